"""What conditions say once nothing works any more: nothing is claimed of pods that are gone, and no wait goes on."""

from collections.abc import Iterable, Iterator

from spade_contracts.resources import BatchCondition, ConditionStatus, Reason, RunCondition
from spade_operator.reconcile.conditions import AT_REST, ON_THE_WAY
from spade_operator.reconcile.observe import AnyPicture
from spade_operator.reconcile.steps import Wanted, is_false

RUN_PARTS = (
    RunCondition.ISOLATED, RunCondition.SANDBOXES_READY, RunCondition.SCALING_LIMITED, RunCondition.ENGINES_READY,
    RunCondition.LEARNER_READY, RunCondition.WEIGHTS_VERIFIED,
)  # fmt: skip
"""What is said of a run's pods, and so cannot hold without them."""
POOL_PARTS = (BatchCondition.ISOLATED, BatchCondition.SANDBOXES_READY, BatchCondition.SCALING_LIMITED)
"""The same of a stand-alone EnvBatch."""


def told(seen: AnyPicture, kinds: Iterable[RunCondition | BatchCondition]) -> Iterator[RunCondition | BatchCondition]:
    """The conditions without ScalingLimited where it was never said: most pools are never limited."""
    return (kind for kind in kinds if str(kind) != RunCondition.SCALING_LIMITED or seen.condition(kind) is not None)


def last_words(
    seen: AnyPicture, kinds: Iterable[RunCondition | BatchCondition], reason: Reason, message: str
) -> tuple[Wanted, ...]:
    """False for those of the conditions that hold or wait for something. A finding stands: it may be the cause."""
    known = ((kind, seen.condition(kind)) for kind in kinds)
    return tuple(
        is_false(kind, reason, message)
        for kind, said in known
        if said is not None and (said.status is not ConditionStatus.FALSE or said.reason in ON_THE_WAY | AT_REST)
    )


def resumed(seen: AnyPicture, kinds: Iterable[RunCondition | BatchCondition]) -> tuple[Wanted, ...]:
    """What a pause made of the conditions counts no longer, even where their policies are not asked yet."""
    known = ((kind, seen.condition(kind)) for kind in kinds)
    return tuple(
        is_false(kind, Reason.STARTING, "The pause is over.")
        for kind, said in known
        if said is not None and said.reason in (Reason.SUSPENDED_BY_USER, Reason.QUEUED)
    )


def anew(seen: AnyPicture, kinds: Iterable[RunCondition | BatchCondition], message: str) -> tuple[Wanted, ...]:
    """What was said last counts no longer: everything starts again."""
    return tuple(is_false(kind, Reason.STARTING, message) for kind in kinds if seen.condition(kind) is not None)
