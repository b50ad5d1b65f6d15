"""The page on bad input names, for each input, a test that there is and a metric that is exported."""

import re
from pathlib import Path

import pytest

from spade_contracts.config import resolve
from spade_contracts.config.method import Profile
from spade_contracts.errors import InvalidInput
from spade_contracts.metrics import METRICS

UNIT = Path(__file__).parents[1]
PAGE = (UNIT.parents[1] / "docs" / "bad-input.md").read_text()
ROWS = re.findall(r"^\| (?!input|---)(.+) \|$", PAGE, re.MULTILINE)
WITHOUT_METRIC = "none: there is no run"


@pytest.mark.parametrize("row", ROWS)
def test_each_row_names_a_test_and_a_metric(row: str) -> None:
    _, result, test, metric = (cell.strip() for cell in row.split(" | "))
    path, name = test.strip("`").split("::")
    assert re.search(rf"^(async )?def {name}\(", (UNIT / path).read_text(), re.MULTILINE), test
    assert result
    assert metric == WITHOUT_METRIC or metric.strip("`") in {spec.name for spec in METRICS}, metric


def test_zero_plays_are_refused_and_zero_hinted_plays_are_not() -> None:
    for profile in Profile:
        with pytest.raises(InvalidInput, match="plays_per_environment"):
            resolve(profile, {"play": {"plays_per_environment": 0}})
        assert resolve(profile, {"play": {"hinted_plays": 0}}).play.hinted_plays == 0
