"""Where a run is, from its status and the objects of the rollout in work. Everybody who asks, asks here."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from spade_contracts.labels import Role
from spade_contracts.resources import Condition, RolloutCondition
from spade_contracts.resources.reasons import BatchCondition
from spade_contracts.resources.spade_run import RolloutFigures
from spade_contracts.statuses import EngineState, EngineStatus, LearnerState, ProofResult
from spade_operator.reconcile.observe import Observed
from spade_operator.records import BatchRecord, RolloutRecord

PROVEN = frozenset({ProofResult.VERIFIED, ProofResult.INDISTINGUISHABLE})


class Stage(StrEnum):
    """Stage of the rollout in work."""

    DESIGN = "design"
    PLAY = "play"
    TRAIN = "train"
    PROVE = "prove"
    COMPLETE = "complete"


@dataclass(frozen=True)
class Position:
    """The rollout in work, its stage, and the policy version that engines must be proven at for it to go on."""

    stage: Stage
    rollout: int
    cycle: int
    wanted_version: int


def condition_true(conditions: tuple[Condition, ...], kind: str) -> bool:
    """Whether a condition is True."""
    return any(c.type == kind and c.status == "True" for c in conditions)


def batch_complete(batch: BatchRecord | None) -> bool:
    """Whether a cycle's environments are there."""
    return batch is not None and condition_true(batch.status.conditions, BatchCondition.COMPLETE)


def played(rollout: RolloutRecord | None) -> bool:
    """Whether a rollout's plays are there."""
    return rollout is not None and condition_true(rollout.status.conditions, RolloutCondition.COMPLETE)


def position(seen: Observed) -> Position:
    """Where the run is; at COMPLETE once all rollouts are trained, even if the last policy is yet to be proven.

    Objects that were pruned or lost are simply wanted again: finished work is a no-op."""
    number = seen.status.rollout
    if number >= seen.spec.rollouts:
        return Position(Stage.COMPLETE, number, seen.status.cycle, number)
    cycle = seen.method.cycle_of(number)
    if played(seen.rollouts.get(number)):
        stage = Stage.PROVE if handing_over(seen, number + 1) else Stage.TRAIN
        return Position(stage, number, cycle, number + 1)
    playing = number in seen.rollouts
    wanted = designs_before(seen, number, environments_of(seen.status.rollouts, number - 1))
    designing = wanted and not playing and not batch_complete(batch_for(seen, number))
    return Position(Stage.DESIGN if designing else Stage.PLAY, number, cycle, number)


def batch_for(seen: Observed, rollout: int) -> BatchRecord | None:
    """The EnvBatch with what is designed before a rollout: that of its cycle, or in mid-cycle its top-up."""
    if seen.method.starts_cycle(rollout):
        return seen.batches.get(seen.method.cycle_of(rollout))
    return seen.topups.get(rollout)


def environments_of(known: Iterable[RolloutFigures], rollout: int) -> int | None:
    """How many environments a cycle had at a rollout, retired ones too; None where that rollout has left no figures."""
    return next((figures.environments for figures in known if figures.rollout == rollout), None)


def designs_before(seen: Observed, rollout: int, environments: int | None) -> bool:
    """Whether anything is designed before a rollout: a cycle, or what is missing of one (switch missingPrograms).

    environments: how many the cycle had at the rollout before; None: the worker finds out, from run storage.
    """
    if not seen.method.may_top_up(rollout):
        return seen.method.starts_cycle(rollout)
    return environments is None or environments < seen.method.environments.per_cycle


def begun(seen: Observed, place: Position) -> bool:
    """Whether any work of the rollout in work has begun."""
    return place.rollout in seen.rollouts or batch_for(seen, place.rollout) is not None


def handing_over(seen: Observed, version: int) -> bool:
    """Whether the learner has made this version and is giving it to the engines."""
    found = seen.learner()
    if found is None or found[1].policy_version != version:
        return False
    return found[1].state in (LearnerState.EXPORTING, LearnerState.PROVING, LearnerState.IDLE)


def last_checkpoint_pending(seen: Observed, place: Position) -> bool:
    """The learner writes the last checkpoint while engines are proven; its pods must not go before."""
    found = seen.learner()
    last = place.wanted_version >= seen.spec.rollouts
    return last and (found is None or found[1].state is not LearnerState.IDLE)


def unproven_engines(seen: Observed, version: int) -> tuple[str, ...]:
    """Names of the engines that are not shown to compute with this version at their present boot, by name.

    An engine counts when it says so itself, and the learner's proof is of the same boot and version. Engines that
    are wanted and missing count as unproven.
    """
    found = seen.learner()
    proofs = {proof.name: proof for proof in found[1].proofs} if found is not None else {}
    pods = seen.pods_of(Role.ENGINE)
    names: list[str] = []
    for pod in pods:
        status, proof = seen.answer(pod, EngineStatus), proofs.get(pod.meta.name)
        serves = (
            status is not None
            and status.state is EngineState.SERVING
            and status.canary_passed
            and status.verified_policy_version == version
        )
        shown = (
            proof is not None
            and status is not None
            and proof.boot_id == status.boot_id
            and proof.policy_version == version
            and proof.result in PROVEN
        )
        if not (serves and shown):
            names.append(pod.meta.name)
    missing = max(0, seen.spec.engine.replicas - len(pods))
    return (*names, *(f"engine {number} of {seen.spec.engine.replicas}" for number in range(missing)))


def verified(seen: Observed, version: int) -> bool:
    """Whether every wanted engine is proven at this version."""
    return not unproven_engines(seen, version)
