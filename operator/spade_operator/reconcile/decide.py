"""What a run needs now. Pure: no clock, no I/O, no memory; the same picture and time give the same decision."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from spade_contracts.resources import Reason, SpadeRunStatus
from spade_operator.making import told_after
from spade_operator.reconcile.accept import accept
from spade_operator.reconcile.causes import trouble
from spade_operator.reconcile.cleanup import hold_storage
from spade_operator.reconcile.complete import complete
from spade_operator.reconcile.engines import engines
from spade_operator.reconcile.expiry import run_expiry
from spade_operator.reconcile.history import history
from spade_operator.reconcile.isolation import isolation
from spade_operator.reconcile.kueue import queued, workload
from spade_operator.reconcile.learner import learner
from spade_operator.reconcile.observe import RESTING, Observed
from spade_operator.reconcile.prepare import prepare
from spade_operator.reconcile.restarts import restarts
from spade_operator.reconcile.rollout import rollout
from spade_operator.reconcile.sandboxes import sandboxes
from spade_operator.reconcile.status import joined
from spade_operator.reconcile.steps import Action, Step
from spade_operator.reconcile.suspend import suspend
from spade_operator.reconcile.weights import weights

Policy = Callable[[Observed, datetime], Step]
POLICIES: tuple[Policy, ...] = (
    accept,
    workload,
    hold_storage,
    run_expiry,
    history,
    complete,
    restarts,
    suspend,
    queued,
    prepare,
    sandboxes,
    isolation,
    engines,
    learner,
    weights,
    rollout,
)
"""In the order of a run's life (design §6); those that may end or pause it come before those that build it."""

MAX_DOING = 256


@dataclass(frozen=True)
class Decision:
    """All actions of a pass, the status to be written after them, and when to look again at the latest."""

    actions: tuple[Action, ...]
    status: SpadeRunStatus
    wake_after_seconds: float | None


def decide(seen: Observed, now: datetime) -> Decision:
    """Ask the policies in order, up to the first that blocks, and join their answers."""
    steps = tuple(_until_blocked(seen, now))
    wakes = [step.wake_after_seconds for step in steps if step.wake_after_seconds is not None]
    making = told_after(seen.pods, now)
    wakes += [making] if making is not None else []
    status = joined(seen.status, steps, seen.run.meta.generation, now)
    return Decision(
        actions=tuple(action for step in steps for action in step.actions),
        status=status if status.phase in RESTING else status.model_copy(update={"doing": _doing(seen, status, now)}),
        wake_after_seconds=min(wakes) if wakes else None,
    )


def _doing(seen: Observed, status: SpadeRunStatus, now: datetime) -> str:
    """What is happening, with the pod that waits for a node or an image, if one does."""
    for pod in seen.pods:
        stuck = trouble(pod, now) if pod.live else None
        if stuck is not None and stuck[0] is not Reason.RESTARTING:
            waits = f" ({stuck[0]}: {pod.meta.name})"
            return f"{status.doing.removesuffix(waits)}{waits}"[:MAX_DOING]
    return status.doing


def _until_blocked(seen: Observed, now: datetime) -> Iterator[Step]:
    for policy in POLICIES:
        step = policy(seen, now)
        yield step
        if step.blocks:
            return
