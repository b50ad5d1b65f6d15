"""The closing tables of a run, from its status: what was played, what was learned, where the time went.

Each fits a terminal of 80 columns, one rollout a row.
"""

from collections.abc import Callable, Mapping

from rich.box import SIMPLE_HEAD
from rich.table import Table

from spade_contracts.resources import SpadeRunStatus
from spade_contracts.resources.spade_run import RolloutFigures
from spade_contracts.statuses import Outcome, ProofResult
from spade_operator.reconcile.figures import STAGES

NOTHING = "-"
"""Stands for a figure that is not there."""
Cell = Callable[[RolloutFigures], str]


def _outcome(outcome: Outcome) -> Cell:
    return lambda figures: str(figures.outcomes.get(outcome.value, 0))


def _seconds(stage: str) -> Cell:
    return lambda figures: figures.stage_seconds.get(stage, NOTHING)


TABLES: Mapping[str, Mapping[str, Cell]] = {
    "Episodes": {
        "rollout": lambda figures: str(figures.rollout),
        "cycle": lambda figures: str(figures.cycle),
        "environments": lambda figures: str(figures.environments),
        "scored": _outcome(Outcome.SCORED),
        "truncated": _outcome(Outcome.TRUNCATED),
        "environment\nfault": _outcome(Outcome.ENVIRONMENT_FAULT),
        "infrastructure\nfault": _outcome(Outcome.INFRASTRUCTURE_FAULT),
    },
    "Learning": {
        "rollout": lambda figures: str(figures.rollout),
        "learnable": lambda figures: figures.learnable_fraction or NOTHING,
        "mean\nreturn": lambda figures: figures.mean_return or NOTHING,
        "loss": lambda figures: figures.loss or NOTHING,
        "gradient\nnorm": lambda figures: figures.gradient_norm or NOTHING,
        "policy": lambda figures: str(figures.rollout + 1),
        "weight proof": lambda figures: figures.proof or NOTHING,
    },
    "Seconds": {
        "rollout": lambda figures: str(figures.rollout),
        **{stage.replace("_", " "): _seconds(stage) for stage in STAGES},
    },
}
"""Title of each table → header of each column → its cell."""


def legend(status: SpadeRunStatus) -> tuple[str, ...]:
    """What the tables do not say by themselves."""
    lines = []
    if any(figures.proof == ProofResult.INDISTINGUISHABLE for figures in status.rollouts):
        lines.append(
            f"{ProofResult.INDISTINGUISHABLE}: the step was too small for log-probabilities to tell the policies "
            "apart; the engine's checksums were compared instead."
        )
    if status.endpoint_requests:
        lines.append(f"{status.endpoint_requests} requests to endpoints, cost {status.endpoint_cost or NOTHING}.")
    missing = status.rollout - len(status.rollouts)
    if missing > 0:
        lines.append(f"{missing} earlier rollouts are not in the status; storage holds rollouts/NNNN/rollout.json.")
    return tuple(lines)


def closing_tables(status: SpadeRunStatus) -> tuple[Table, ...]:
    """The rollouts that status still holds."""
    tables = []
    for title, columns in TABLES.items():
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0)
        for header in columns:
            table.add_column(header, justify="right", overflow="fold")
        for figures in status.rollouts:
            table.add_row(*(cell(figures) for cell in columns.values()))
        tables.append(table)
    return tuple(tables)
