"""The one status that a pass writes: the steps of all policies joined, times filled in, phase and words for people."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from spade_contracts.resources import (
    BatchCondition,
    Condition,
    EnvBatchStatus,
    Phase,
    Reason,
    RunCondition,
    SpadeRunStatus,
)
from spade_contracts.resources.run_parts import Restarts
from spade_operator.reconcile.conditions import set_conditions
from spade_operator.reconcile.fit import fitted
from spade_operator.reconcile.steps import Step, Wanted, is_false

IDLE = frozenset({Phase.PENDING, Phase.PREPARING, Phase.STARTING})
"""Phases in which no stage of a rollout goes on."""
RESTING = frozenset({Phase.SUSPENDED, Phase.COMPLETE, Phase.FAILED})
"""Phases in which the run has no pods to wait for."""
ORDER = {str(kind): number for kinds in (BatchCondition, RunCondition) for number, kind in enumerate(kinds)}


def joined_conditions(
    before: Sequence[Condition], wanted: Iterable[Wanted], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Conditions with the wanted ones in place, in the order of a run's life."""
    marks = {str(want.type): (want.status, want.reason, want.message) for want in wanted}
    result = set_conditions(before, marks, generation, now)
    return tuple(sorted(result.values(), key=lambda c: (ORDER.get(c.type, len(ORDER)), c.type)))


def joined(before: SpadeRunStatus, steps: Sequence[Step], generation: int, now: datetime) -> SpadeRunStatus:
    """The status after a pass. A later policy's field wins; counted restarts add up."""
    fields: dict[str, Any] = {}
    for step in steps:
        fields.update(step.status)
    counts = _counted(fields.get("restarts", before.restarts), steps)
    phases = [step.phase for step in steps if step.phase is not None]
    words = [step.doing for step in steps if step.doing]
    phase = phases[-1] if phases else before.phase
    wanted = [want for step in steps for want in step.conditions]
    if phase in IDLE and _says_progressing(before) and all(w.type is not RunCondition.PROGRESSING for w in wanted):
        # A policy that holds the run up keeps the later ones from speaking, and what they said holds no longer.
        wanted.append(is_false(RunCondition.PROGRESSING, Reason.WAITING, f"Held up: {words[-1] if words else phase}."))
    fields |= {
        "restarts": counts,
        "observed_generation": generation,
        "phase": phase,
        "doing": words[-1][:256] if words else before.doing,
        "conditions": joined_conditions(before.conditions, wanted, generation, now),
    }
    return fitted(before.model_copy(update=fields))


def joined_pool(before: EnvBatchStatus, steps: Sequence[Step], generation: int, now: datetime) -> EnvBatchStatus:
    """The status of a stand-alone EnvBatch after a pass, by the same rules."""
    fields: dict[str, Any] = {}
    for step in steps:
        fields.update(step.status)
    words = [step.doing for step in steps if step.doing]
    wanted = [want for step in steps for want in step.conditions]
    fields |= {
        "restarts": _counted(fields.get("restarts", before.restarts), steps),
        "observed_generation": generation,
        "doing": words[-1][:256] if words else before.doing,
        "conditions": joined_conditions(before.conditions, wanted, generation, now),
    }
    return fitted(before.model_copy(update=fields))


def _counted(before: Mapping[str, Restarts], steps: Sequence[Step]) -> dict[str, Restarts]:
    """Restarts with those that the steps count."""
    counts = dict(before)
    for step in steps:
        for losses, paid in ((step.restarts, True), (step.disruptions, False)):
            for role, number in losses.items():
                known = counts.get(role, Restarts())
                more = {"since_progress": known.since_progress + number} if paid else {}
                counts[str(role)] = known.model_copy(update={"total": known.total + number, **more})
    return counts


def _says_progressing(status: SpadeRunStatus) -> bool:
    return any(c.type == RunCondition.PROGRESSING for c in status.conditions)
