"""The learner is told the wanted policy version; engines serve it only after the proof (design §7, Weights)."""

from datetime import datetime

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition
from spade_contracts.statuses import EngineStatus, EngineTarget, LearnerTarget, ProofResult
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import Position, Stage, last_checkpoint_pending, position, unproven_engines
from spade_operator.reconcile.steps import Action, SetTarget, Step, Wanted, is_false, is_true
from spade_operator.records import PodRecord

TELL_AGAIN_SECONDS = 15.0
"""A target that is not reached is told again so often, which costs the API server nothing."""


def weights(seen: Observed, now: datetime) -> Step:
    """Tell the learner where to go, and say whether all engines are proven to be there."""
    place = position(seen)
    ahead = _ahead(seen, place)
    if ahead is not None:
        return ahead
    unproven = unproven_engines(seen, place.wanted_version)
    if not unproven:
        message = f"All engines are proven at policy version {place.wanted_version}."
        first = seen.status.policy_version is None
        proofs = _proofs(seen, place.wanted_version)
        return Step(
            conditions=(is_true(RunCondition.WEIGHTS_VERIFIED, Reason.VERIFIED, message),),
            status=({} if last_checkpoint_pending(seen, place) else {"policy_version": place.wanted_version})
            | ({"proofs": {str(result): proofs.count(result) for result in set(proofs)}} if first else {}),
        )
    actions = _tell(seen, place.wanted_version, now)
    condition = _condition(seen, place, unproven)
    mismatches = sum(1 for proof in _proofs(seen, place.wanted_version) if proof is ProofResult.MISMATCH)
    before = seen.condition(RunCondition.WEIGHTS_VERIFIED)
    fresh = (
        condition is not None
        and condition.reason is Reason.MISMATCH
        and (before is None or before.reason != Reason.MISMATCH)
    )
    counted = dict(seen.status.proofs)
    if fresh:
        counted[ProofResult.MISMATCH] = counted.get(ProofResult.MISMATCH, 0) + mismatches
    return Step(
        actions,
        (condition,) if condition is not None else (),
        status={"proofs": counted} if fresh else {},
        wake_after_seconds=TELL_AGAIN_SECONDS,
    )


def _ahead(seen: Observed, place: Position) -> Step | None:
    """Run storage is the truth: if the learner found steps there that status knows nothing of, status follows.

    That happens when a SpadeRun was deleted and made again on the storage of its predecessor.
    """
    found = seen.learner()
    if found is None or found[1].policy_version is None or found[1].policy_version <= place.wanted_version:
        return None
    number = found[1].policy_version
    text = f"taking up run storage at rollout {number}"
    return Step(
        status={"rollout": number, "cycle": seen.method.cycle_of(number), "stage_started": {}},
        phase=Phase.STARTING,
        doing=text,
        blocks=True,
    )


def _proofs(seen: Observed, version: int) -> tuple[ProofResult, ...]:
    found = seen.learner()
    return tuple(p.result for p in found[1].proofs if p.policy_version == version) if found is not None else ()


def _condition(seen: Observed, place: Position, unproven: tuple[str, ...]) -> Wanted | None:
    """None while the learner trains: the engines still serve the version that they are proven at."""
    if ProofResult.MISMATCH in _proofs(seen, place.wanted_version):
        text = f"{unproven[0]} does not compute with policy version {place.wanted_version}; it is sent again."
        return is_false(RunCondition.WEIGHTS_VERIFIED, Reason.MISMATCH, text)
    if place.stage is Stage.TRAIN and seen.holds(RunCondition.WEIGHTS_VERIFIED):
        return None
    text = f"Not proven yet at policy version {place.wanted_version}: {', '.join(unproven[:5])}."
    return is_false(RunCondition.WEIGHTS_VERIFIED, Reason.VERIFYING, text)


def _tell(seen: Observed, version: int, now: datetime) -> tuple[Action, ...]:
    found = seen.learner()
    pods = tuple(pod for pod in seen.pods_of(Role.ENGINE) if pod.ip)
    if found is None or len(pods) < seen.spec.engine.replicas:
        return ()
    pod, status = found
    target = LearnerTarget(
        policy_version=version,
        engines=tuple(EngineTarget(name=p.meta.name, host=p.ip) for p in pods),
        last_policy_version=seen.spec.rollouts,
    )
    boots = tuple(_boot(seen, p) for p in pods)
    told = seen.told
    known = told is not None and (told.boot_id, told.target, told.engine_boots) == (status.boot_id, target, boots)
    if told is not None and known and (now - told.at).total_seconds() < TELL_AGAIN_SECONDS:
        return ()
    return (SetTarget(pod, status.boot_id, target, boots),)


def _boot(seen: Observed, pod: PodRecord) -> str:
    status = seen.answer(pod, EngineStatus)
    return status.boot_id if status is not None else ""
