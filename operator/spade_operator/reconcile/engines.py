"""The engines are there, and each restart of one is counted once."""

from datetime import datetime

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.statuses import EngineState, EngineStatus, ProofResult
from spade_operator.children.engine import engine_deployment
from spade_operator.reconcile.causes import Cause, cause_of, first_trouble, without_replicas
from spade_operator.reconcile.fit import comparable, tracked
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.position import position
from spade_operator.reconcile.steps import Remove, Step, Wanted, is_false, is_true
from spade_operator.records import PodRecord

REPLACE_GRACE_SECONDS = 5
UP = frozenset({EngineState.UNVERIFIED, EngineState.UPDATING, EngineState.SERVING})


def engines(seen: Observed, now: datetime) -> Step:
    """Apply the Deployment, count lost and restarted engines, and say whether all processes are up."""
    lost, counted = _count(seen)
    wrong = _mismatched(seen)
    causes = [cause for pod in seen.pods if pod.meta.role is Role.ENGINE and (cause := cause_of(pod, seen.logs))]
    return Step(
        actions=(
            *seen.changed(engine_deployment(seen.parent, seen.site, seen.spec.engine.replicas)),
            *(fetch for cause in causes for fetch in cause.fetch),
            *(Remove(pod, REPLACE_GRACE_SECONDS) for pod, _ in wrong),
        ),
        conditions=(wrong[0][1] if wrong else _readiness(seen, lost, causes),),
        status={"engine_restarts_seen": counted},
        restarts={Role.ENGINE: lost} if lost else {},
    )


def _count(seen: Observed) -> tuple[int, dict[str, int]]:
    """Engines lost or restarted since the last count, and the new count: pod name → container restarts."""
    before = seen.status.engine_restarts_seen
    counted = {pod.meta.name: pod.restarts for pod in seen.pods_of(Role.ENGINE)}
    restarted = sum(max(0, number - before.get(name, 0)) for name, number in comparable(before, counted).items())
    gone = sum(1 for name in before if name not in counted)
    surplus = max(0, len(before) - seen.spec.engine.replicas)
    return restarted + max(0, gone - surplus), tracked(counted)


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


def _readiness(seen: Observed, lost: int, causes: list[Cause]) -> Wanted:
    pods, wanted = seen.pods_of(Role.ENGINE), seen.spec.engine.replicas
    answers = [seen.answer(pod, EngineStatus) for pod in pods]
    up = sum(1 for answer in answers if answer is not None and answer.state in UP)
    before = seen.condition(RunCondition.ENGINES_READY)
    known = before.message if before is not None and before.reason == Reason.RESTARTING else ""
    if lost:
        text = causes[-1].text if causes else known or "An engine pod went."
        return is_false(RunCondition.ENGINES_READY, Reason.RESTARTING, text)
    if up >= wanted:
        return is_true(RunCondition.ENGINES_READY, Reason.READY, f"All {wanted} engine processes are up.")
    failed = [a.error for a in answers if a is not None and a.state is EngineState.FAILED]
    stuck = first_trouble(pods) or without_replicas(seen.deployments.get(Role.ENGINE))
    if failed:
        return is_false(RunCondition.ENGINES_READY, Reason.RESTARTING, f"An engine failed: {failed[0]}"[:1500])
    if stuck is not None:
        return is_false(RunCondition.ENGINES_READY, *stuck)
    if known:
        # The cause of the last loss stands until the engines are up again.
        return is_false(RunCondition.ENGINES_READY, Reason.RESTARTING, known)
    return is_false(RunCondition.ENGINES_READY, Reason.STARTING, f"{wanted} engine processes must be up.")
