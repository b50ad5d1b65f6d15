"""What docs/pods.md shows is taken as it stands there."""

import re

import pytest
import yaml
from tests.support.helm import ROOT, helm

from spade_contracts.resources import EnvBatchSpec, SpadeRunSpec
from spade_operator.reconcile.accept import check

PAGE = (ROOT / "docs" / "pods.md").read_text()
BLOCKS = re.findall(r"```yaml\n# (spec of a run|spec of an EnvBatch|values)\n(.*?)```", PAGE, re.DOTALL)


def blocks(kind: str) -> list[str]:
    found = [text for of, text in BLOCKS if of == kind]
    assert found
    return found


def test_every_block_says_where_it_belongs() -> None:
    assert len(BLOCKS) == PAGE.count("```yaml")


@pytest.mark.parametrize("text", blocks("spec of a run"))
def test_parts_of_a_run_are_accepted(text: str) -> None:
    whole = {"model": {"uri": "file:///storage/model"}, "rollouts": 4, **yaml.safe_load(text)}
    check(SpadeRunSpec.model_validate(whole))


@pytest.mark.parametrize("text", blocks("spec of an EnvBatch"))
def test_a_batch_is_accepted(text: str) -> None:
    EnvBatchSpec.model_validate(yaml.safe_load(text)).settings()


@pytest.mark.parametrize("text", blocks("values"))
def test_values_are_taken(text: str) -> None:
    done = helm("template", "spade", ".", "--kube-version", "1.34.0", values=yaml.safe_load(text))
    assert done.returncode == 0, done.stderr
