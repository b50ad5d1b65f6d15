"""The engines are there, and each restart of one is counted once."""

from dataclasses import dataclass
from datetime import datetime

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.resources.run_parts import Placement
from spade_contracts.statuses import EngineState, EngineStatus, ProofResult
from spade_operator.children.engine import engine_deployment
from spade_operator.reconcile.causes import Cause, cause_of, first_trouble, is_counted, weightiest, without_replicas
from spade_operator.reconcile.fit import comparable, tracked
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import position
from spade_operator.reconcile.steps import Remove, Step, Wanted, is_false, is_true
from spade_operator.records import PodRecord

REPLACE_GRACE_SECONDS = 5
UP = frozenset({EngineState.UNVERIFIED, EngineState.UPDATING, EngineState.SERVING, EngineState.ASLEEP})


@dataclass(frozen=True)
class _Losses:
    """What became of the engines since the last count."""

    counted: int
    """Lost or restarted, by the budget's count."""
    spared: int
    """Lost by what no budget pays for."""
    restarts: dict[str, int]
    """Pod name → container restarts, as it is now."""
    causes: list[Cause]


def engines(seen: Observed, now: datetime) -> Step:
    """Apply the Deployment, count lost and restarted engines, and say whether all processes are up."""
    wrong = _mismatched(seen)
    if seen.spec.placement is Placement.COLOCATED:
        return _beside_learners(seen, wrong, now)
    losses = _losses(seen)
    manifests = seen.rendered(engine_deployment, seen.parent, seen.site, seen.spec.engine.replicas)
    fetch = tuple(f for cause in losses.causes for f in cause.fetch)
    if fetch:
        # A log goes with its pod or its next container, so it is read before the loss is counted.
        return Step(actions=(*manifests, *fetch), conditions=(_readiness(seen, losses, now),))
    return Step(
        actions=(*manifests, *(Remove(pod, REPLACE_GRACE_SECONDS) for pod, _ in wrong)),
        conditions=(wrong[0][1] if wrong else _readiness(seen, losses, now),),
        status={"engine_restarts_seen": losses.restarts},
        restarts={Role.ENGINE: losses.counted} if losses.counted else {},
        disruptions={Role.ENGINE: losses.spared} if losses.spared else {},
    )


def _beside_learners(seen: Observed, wrong: list[tuple[PodRecord, Wanted]], now: datetime) -> Step:
    """Engines in learner pods come and go with the group, whose budget pays for them."""
    names = {pod.meta.name for pod, _ in wrong}
    return Step(
        actions=tuple(Remove(pod, REPLACE_GRACE_SECONDS) for pod in seen.pods if pod.live and pod.meta.name in names),
        conditions=(wrong[0][1] if wrong else _readiness(seen, _Losses(0, 0, {}, []), now),),
    )


def _losses(seen: Observed) -> _Losses:
    """Engines lost or restarted since the last count; those removed by a smaller number of replicas are neither."""
    before, pods = seen.status.engine_restarts_seen, seen.present_and_taken(Role.ENGINE)
    present = {pod.meta.name: pod.restarts for pod in seen.pods_of(Role.ENGINE)}
    restarted = {name for name, number in comparable(before, present).items() if number > before.get(name, 0)}
    gone = {name for name in before if name not in present}
    excess = max(0, len(gone) - max(0, len(before) - seen.spec.engine.replicas))
    spared = min(excess, sum(1 for pod in pods if pod.meta.name in gone and not is_counted(pod)))
    lost = [pod for pod in pods if pod.meta.name in gone | restarted] if excess or restarted else []
    return _Losses(
        counted=sum(present[name] - before.get(name, 0) for name in restarted) + excess - spared,
        spared=spared,
        restarts=tracked(present),
        causes=[cause for pod in lost if (cause := cause_of(pod, seen.logs)) is not None],
    )


def _mismatched(seen: Observed) -> list[tuple[PodRecord, Wanted]]:
    """Engines that were given the wanted version and do not compute with it at this boot: the learner gave them up."""
    found = seen.learner()
    version = position(seen).wanted_version
    result: list[tuple[PodRecord, Wanted]] = []
    for pod in seen.pods_of(Role.ENGINE):
        status = seen.answer(pod, EngineStatus)
        for proof in found[1].proofs if found is not None and status is not None else ():
            same = status is not None and (proof.name, proof.boot_id) == (pod.meta.name, status.boot_id)
            if same and proof.policy_version == version and proof.result is ProofResult.MISMATCH:
                text = f"engine {pod.meta.name} does not compute with policy version {version}: {proof.detail}"
                result.append((pod, is_false(RunCondition.ENGINES_READY, Reason.RESTARTING, text)))
    return result


def _readiness(seen: Observed, losses: _Losses, now: datetime) -> Wanted:
    pods, wanted = seen.pods_of(Role.ENGINE), seen.spec.engine.replicas
    answers = [seen.answer(pod, EngineStatus) for pod in pods]
    up = sum(1 for answer in answers if answer is not None and answer.state in UP)
    before = seen.condition(RunCondition.ENGINES_READY)
    known = before.message if before is not None and before.reason == Reason.RESTARTING else ""
    if losses.counted or losses.spared:
        cause = weightiest(losses.causes)
        text = cause.words if cause is not None else known or "An engine pod went; nothing says why."
        return is_false(RunCondition.ENGINES_READY, Reason.RESTARTING, text)
    if up >= wanted:
        turns = " They sleep while the learner computes." if seen.spec.placement is Placement.COLOCATED else ""
        return is_true(RunCondition.ENGINES_READY, Reason.READY, f"All {wanted} engine processes are up.{turns}")
    failed = [a.error for a in answers if a is not None and a.state is EngineState.FAILED]
    stuck = first_trouble(pods, now) or without_replicas(seen.deployments.get(Role.ENGINE))
    if failed:
        return is_false(RunCondition.ENGINES_READY, Reason.RESTARTING, f"An engine failed: {failed[0]}"[:1500])
    if stuck is not None and not (known and stuck[0] is Reason.RESTARTING):
        return is_false(RunCondition.ENGINES_READY, *stuck)
    if known:
        # The cause of the last loss stands until the engines are up again.
        return is_false(RunCondition.ENGINES_READY, Reason.RESTARTING, known)
    return is_false(RunCondition.ENGINES_READY, Reason.STARTING, f"{wanted} engine processes must be up.")
