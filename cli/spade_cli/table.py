"""The closing table of a run, from its status."""

from rich.table import Table

from spade_contracts.resources import SpadeRunStatus
from spade_contracts.resources.spade_run import RolloutFigures
from spade_contracts.statuses import Outcome

COLUMNS = (
    "rollout", "cycle", "environments", *(outcome.value.replace("_", " ") for outcome in Outcome),
    "learnable", "mean return", "loss", "grad norm", "policy", "weight proof", "seconds by stage",
)  # fmt: skip


def row(figures: RolloutFigures) -> tuple[str, ...]:
    """One rollout, in the order of COLUMNS; a figure that is not there is a dash."""
    stages = " ".join(f"{stage} {seconds}" for stage, seconds in figures.stage_seconds.items())
    return (
        str(figures.rollout),
        str(figures.cycle),
        str(figures.environments),
        *(str(figures.outcomes.get(outcome.value, 0)) for outcome in Outcome),
        figures.learnable_fraction or "-",
        figures.mean_return or "-",
        figures.loss or "-",
        figures.gradient_norm or "-",
        str(figures.rollout + 1),
        figures.proof or "-",
        stages or "-",
    )


def closing_table(status: SpadeRunStatus) -> Table:
    """The rollouts that status still holds, one a row."""
    table = Table(title="Rollouts", title_justify="left")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "seconds by stage" else "right", overflow="fold")
    for figures in status.rollouts:
        table.add_row(*row(figures))
    return table
