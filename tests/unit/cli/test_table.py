"""The closing table has one row for each rollout and a cell for each figure."""

from hypothesis import given
from hypothesis import strategies as st

from spade_cli.table import COLUMNS, row
from spade_contracts.resources.spade_run import RolloutFigures
from spade_contracts.statuses import Outcome


@given(
    st.builds(
        RolloutFigures,
        rollout=st.integers(0, 9999),
        outcomes=st.dictionaries(st.sampled_from([o.value for o in Outcome]), st.integers(0, 500)),
        stage_seconds=st.dictionaries(st.sampled_from(["design", "play"]), st.just("1.0")),
    )
)
def test_every_row_fits_the_columns_and_names_the_policy_it_made(figures: RolloutFigures) -> None:
    cells = row(figures)
    assert len(cells) == len(COLUMNS)
    assert cells[COLUMNS.index("policy")] == str(figures.rollout + 1)
    for outcome, count in figures.outcomes.items():
        assert cells[COLUMNS.index(outcome.replace("_", " "))] == str(count)
