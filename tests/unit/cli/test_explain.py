"""`spade check --explain` names every setting once, with its value, its source and its meaning."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from spade_cli.explain import Setting, Source, explained
from spade_cli.main import app
from spade_contracts.config import resolve
from spade_contracts.config.method import Profile
from spade_contracts.errors import InvalidInput


def run_of(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "spade.dev/v1alpha1",
        "kind": "SpadeRun",
        "metadata": {"name": "x"},
        "spec": {"model": {"uri": "file:///storage/m"}, "rollouts": 4, **spec},
    }


def settings(**spec: Any) -> dict[str, Setting]:
    found = explained(run_of(**spec))
    assert len({setting.place for setting in found}) == len(found)
    return {setting.place: setting for setting in found}


def leaves(values: dict[str, Any]) -> int:
    return sum(leaves(inner) if isinstance(inner, dict) else 1 for inner in values.values())


def test_every_setting_of_the_method_is_there_and_says_what_it_means() -> None:
    found = explained(run_of())
    assert len(found) == leaves(resolve(Profile.CORRECTED, {}).model_dump())
    assert all(setting.meaning for setting in found)


@pytest.mark.parametrize(
    ("place", "value", "source"),
    [
        ("profile", "Paper", Source.FILE),
        ("seed", "42", Source.PROFILE),
        ("environments.perCycle", "12", Source.FILE),
        ("environments.cycleLength", "8", Source.PROFILE),
        ("environments.designer.sampling.maxNewTokens", "900", Source.FILE),
        ("environments.designer.sampling.topK", "20", Source.PROFILE),
        ("environments.verification.stages", "none", Source.PROFILE),
        ("environments.verification.maxSteps", "200", Source.DEFAULT),
        ("environments.verification.judge.url", "empty", Source.DEFAULT),
        ("learner.nodes x learner.ranksPerNode", "4", Source.FILE),
        ("learner.parallelism.expert", "2", Source.FILE),
        ("learner.parallelism.tensor", "1", Source.DEFAULT),
        ("learner.loss.klCoefficient", "0.005", Source.PROFILE),
        ("sandbox.limits.cpuSeconds", "30", Source.FILE),
        ("sandbox.limits.stepSeconds", "5.0", Source.DEFAULT),
        ("switches.boxedAction", "Last", Source.FILE),
        ("switches.episodeSeeds", "NullUnhinted", Source.PROFILE),
    ],
)
def test_the_source_of_a_value(place: str, value: str, source: Source) -> None:
    found = settings(
        profile="Paper",
        environments={"domain": "Tools", "perCycle": 12, "designer": {"sampling": {"maxNewTokens": 900}}},
        learner={"nodes": 4, "parallelism": {"expert": 2}},
        sandbox={"limits": {"cpuSeconds": 30}},
        switches={"boxedAction": "Last"},
    )[place]
    assert (found.value, found.source) == (value, source)


def test_a_value_that_the_file_repeats_is_the_files() -> None:
    assert settings(environments={"perCycle": 24})["environments.perCycle"].source is Source.FILE


def test_what_would_not_be_accepted_is_not_explained() -> None:
    with pytest.raises(InvalidInput, match="Did you mean perCycle"):
        explained(run_of(environments={"perCyle": 6}))


def test_the_command_prints_two_lines_a_setting_and_looks_at_no_cluster(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(run_of(seed=7)))
    result = CliRunner().invoke(app, ["check", str(file), "--explain"])
    assert result.exit_code == 0
    assert "\nseed: 7  (file)\n    Root of every random draw.\n" in result.output
    assert len(result.output.splitlines()) == 2 * len(explained(run_of()))
