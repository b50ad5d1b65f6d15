"""The closing tables show every figure of every rollout, whole, on a narrow terminal."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from spade_cli.table import NOTHING, TABLES, closing_tables, legend
from spade_contracts.resources import SpadeRunStatus
from spade_contracts.resources.spade_run import RolloutFigures
from spade_contracts.statuses import Outcome, ProofResult
from spade_operator.reconcile.figures import STAGES

WIDTH = 80
decimals = st.none() | st.floats(-1e6, 1e6).map("{:.6g}".format)
rollouts = st.builds(
    RolloutFigures,
    rollout=st.integers(0, 99999),
    cycle=st.integers(0, 99999),
    environments=st.integers(0, 999),
    outcomes=st.dictionaries(st.sampled_from([o.value for o in Outcome]), st.integers(0, 99999)),
    learnable_fraction=st.none() | st.floats(0, 1).map("{:.3f}".format),
    mean_return=st.none() | st.floats(-1, 1).map("{:.3f}".format),
    loss=decimals,
    gradient_norm=decimals,
    stage_seconds=st.dictionaries(st.sampled_from(STAGES), st.floats(0, 99999).map("{:.1f}".format)),
    proof=st.none() | st.sampled_from([str(result) for result in ProofResult]),
)


def printed(*figures: RolloutFigures) -> list[list[str]]:
    """Words of each line, as a terminal of WIDTH columns shows them."""
    out = io.StringIO()
    Console(file=out, width=WIDTH).print(*closing_tables(SpadeRunStatus(rollouts=figures)), sep="")
    return [line.split() for line in out.getvalue().splitlines()]


@given(rollouts)
def test_every_figure_stands_whole_in_its_row(figures: RolloutFigures) -> None:
    lines = printed(figures)
    for columns in TABLES.values():
        assert [cell(figures) for cell in columns.values()] in lines


@given(rollouts)
def test_figures_of_the_rollout_are_in_the_tables(figures: RolloutFigures) -> None:
    cells = {header: cell(figures) for columns in TABLES.values() for header, cell in columns.items()}
    assert cells["policy"] == str(figures.rollout + 1)
    assert [cells[stage.replace("_", " ")] for stage in STAGES] == [
        figures.stage_seconds.get(stage, NOTHING) for stage in STAGES
    ]
    for outcome in Outcome:
        assert cells[outcome.replace("_", "\n")] == str(figures.outcomes.get(outcome.value, 0))


def test_rollouts_stand_below_each_other() -> None:
    figures = [RolloutFigures(rollout=number, cycle=0, environments=6, outcomes={}) for number in (0, 1)]
    assert [line[0] for line in printed(*figures) if line[1:3] == ["0", "6"]] == ["0", "1"]


def test_legend_says_what_an_undecided_proof_means_and_which_rollouts_are_not_shown() -> None:
    small = RolloutFigures(rollout=1, cycle=0, environments=6, outcomes={}, proof=str(ProofResult.INDISTINGUISHABLE))
    proof, missing = legend(SpadeRunStatus(rollout=2, rollouts=(small,)))
    assert proof.startswith("indistinguishable: ")
    assert missing.startswith("1 earlier rollouts are not in the status")
    assert legend(SpadeRunStatus(rollout=0)) == ()


def test_legend_says_what_endpoints_were_asked_for_and_cost_when_there_are_any() -> None:
    (said,) = legend(SpadeRunStatus(rollout=0, endpoint_requests=12, endpoint_cost="0.034500"))
    assert said == "12 requests to endpoints, cost 0.034500."
