"""The page on bad input names, for each input, a test that there is, and a metric that the test shows to be moved."""

import ast
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


def source_of(test: str) -> str:
    """The text of the function that FILE::NAME below tests/unit is."""
    path, name = test.split("::")
    text = (UNIT / path).read_text()
    found = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    assert len(found) == 1, test
    return ast.get_source_segment(text, found[0]) or ""


@pytest.mark.parametrize("row", ROWS)
def test_each_row_names_a_test_that_looks_at_the_metric_it_names(row: str) -> None:
    _, result, shown, metric = (cell.strip() for cell in row.split(" | "))
    tests = [source_of(test.strip("`")) for test in shown.split("<br>")]
    assert result
    if metric == WITHOUT_METRIC:
        return
    name = metric.strip("`")
    assert name in {spec.name for spec in METRICS}
    assert f'"{name}"' in tests[-1], f"{shown} does not look at {name}"


def test_the_page_has_all_of_its_rows_read() -> None:
    assert len(ROWS) == sum(line.startswith("| ") and "::" in line for line in PAGE.splitlines())


def test_zero_plays_are_refused_and_zero_hinted_plays_are_not() -> None:
    for profile in Profile:
        with pytest.raises(InvalidInput, match="plays_per_environment"):
            resolve(profile, {"play": {"plays_per_environment": 0}})
        assert resolve(profile, {"play": {"hinted_plays": 0}}).play.hinted_plays == 0
