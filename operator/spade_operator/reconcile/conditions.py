"""Conditions of any object of ours: set by type, with a transition time that moves only with the status."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from spade_contracts.resources import (
    Condition,
    ConditionStatus,
    EnvBatchStatus,
    Reason,
    RolloutJobStatus,
)
from spade_operator.reconcile.fit import fitted

MAX_MESSAGE = 2000
ChildStatus = TypeVar("ChildStatus", EnvBatchStatus, RolloutJobStatus)
Mark = tuple[ConditionStatus, Reason, str]
"""Status, reason and message of a condition."""
ON_THE_WAY = frozenset({
    Reason.PREPARING, Reason.PROBING, Reason.STARTING, Reason.WAITING, Reason.VERIFYING, Reason.JUDGING,
})  # fmt: skip
"""Reasons of a False that will pass by itself."""
AT_REST = frozenset({
    Reason.RUNNING, Reason.NOT_APPLICABLE, Reason.SUSPENDING, Reason.SUSPENDED_BY_USER, Reason.QUEUED,
    Reason.FINISHED,
})  # fmt: skip
"""Reasons of a False that is no fault."""


def set_conditions(
    before: Sequence[Condition], marks: Mapping[str, Mark], generation: int, now: datetime
) -> dict[str, Condition]:
    """The conditions by type, with these in place of earlier ones."""
    result = {condition.type: condition for condition in before}
    for kind, (status, reason, message) in marks.items():
        known = result.get(kind)
        moved = known is None or known.status != status
        result[str(kind)] = Condition(
            type=str(kind),
            status=status,
            reason=reason,
            message=message[:MAX_MESSAGE],
            last_transition_time=now.replace(microsecond=0) if moved or known is None else known.last_transition_time,
            observed_generation=generation,
        )
    return result


def with_conditions(before: ChildStatus, marks: Mapping[Any, Mark], generation: int, now: datetime) -> ChildStatus:
    """A child's status with these conditions."""
    conditions = set_conditions(before.conditions, marks, generation, now)
    update = {"conditions": tuple(conditions.values()), "observed_generation": generation}
    return fitted(before.model_copy(update=update))
