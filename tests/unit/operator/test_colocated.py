"""A learner's pod with an engine in it has two words, and one fate."""

from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Reason, RunCondition
from spade_contracts.statuses import EngineState, ProofResult
from spade_operator.containers import ContainerRecord
from spade_operator.facts import Facts, Poll
from spade_operator.parts import engine_part, engine_uid
from spade_operator.reconcile.causes import cause_of
from spade_operator.reconcile.engines import engines
from spade_operator.reconcile.learner import learner
from spade_operator.reconcile.observe import Observed, observe
from spade_operator.reconcile.position import verified
from spade_operator.reconcile.steps import Apply, Create, Remove, SetTarget
from spade_operator.reconcile.weights import weights
from spade_operator.records import PodRecord

BOTH = (ContainerRecord("learner"), ContainerRecord("engine"))
POD = p.learner_pod(containers=BOTH)
JOB = p.job("mini-learner-a0", Role.LEARNER)
STATUS = p.holding(*p.AT_WORK)


def run_of(**spec: object) -> p.RunRecord:
    return p.run_record(STATUS, placement="Colocated", **spec)


def part_of(pod: PodRecord) -> PodRecord:
    part = engine_part(pod)
    assert part is not None
    return part


def seen(state: EngineState = EngineState.SERVING, *proofs: p.EngineProof, pod: PodRecord = POD) -> Observed:
    """One such pod, as the operator sees it when both have answered."""
    version = 0 if state is EngineState.SERVING else None
    facts = Facts()
    for record in (run_of(), pod, JOB):
        facts.put(record)
    facts.set_poll(pod, Poll(p.learner_says(0, *proofs), "", p.NOW))
    facts.set_poll(part_of(pod), Poll(p.engine_says(version, state=state), "", p.NOW))
    picture = observe(facts, p.SITE, "default", p.RUN)
    assert picture is not None
    return picture


def test_pod_of_a_learner_alone_has_no_engine() -> None:
    assert engine_part(p.LEARNER) is None
    assert engine_part(p.ENGINE) is None
    assert part_of(POD).meta.role is Role.ENGINE
    assert [container.name for container in part_of(POD).containers] == ["engine"]


def test_both_words_of_a_pod_are_heard_and_go_with_it() -> None:
    facts = Facts()
    facts.put(POD)
    facts.set_poll(POD, Poll(p.learner_says(), "", p.NOW))
    facts.set_poll(part_of(POD), Poll(p.engine_says(), "", p.NOW))
    facts.forget(POD)
    assert facts.poll(POD.meta.uid) is None
    assert facts.poll(engine_uid(POD.meta.uid)) is None


def test_engine_counts_as_proven_by_its_own_word_and_the_learners() -> None:
    proof = p.proof(POD.meta.name, 0)
    assert verified(seen(EngineState.SERVING, proof), 0)
    assert not verified(seen(EngineState.SERVING), 0)
    assert not verified(seen(EngineState.ASLEEP, proof), 0)


def test_sleeping_engine_is_up_and_no_deployment_is_made() -> None:
    step = engines(seen(EngineState.ASLEEP), p.NOW)
    assert p.wanted(step, RunCondition.ENGINES_READY)[:2] == ("True", Reason.READY)
    assert not p.actions_of(step, Apply)
    assert step.restarts == {}


def test_learner_is_told_of_the_engine_in_its_own_pod() -> None:
    (told,) = p.actions_of(weights(seen(EngineState.ASLEEP), p.NOW), SetTarget)
    assert [(engine.name, engine.host) for engine in told.target.engines] == [(POD.meta.name, POD.ip)]
    assert told.engine_boots == ("engine-boot",)


def test_group_is_replaced_when_one_of_two_containers_has_ended() -> None:
    for name in ("learner", "engine"):
        containers = tuple(
            ContainerRecord(one.name, exit_code=9 if one.name == name else None, ended_message="broken") for one in BOTH
        )
        pod = p.learner_pod(containers=containers)
        step = learner(p.seen(run_of(), pods=[pod], jobs=[JOB]), p.NOW)
        assert step.restarts == {Role.LEARNER: 1}
        assert f"container {name} of pod" in p.wanted(step, RunCondition.LEARNER_READY)[2]
        assert {action.record for action in p.actions_of(step, Remove)} == {JOB, pod}


def test_memory_of_the_engine_is_raised_where_the_engines_settings_stand() -> None:
    full = ContainerRecord("engine", exit_code=137, ended_reason="OOMKilled", memory_limit="4Gi", ended_message="x")
    cause = cause_of(p.learner_pod(containers=(ContainerRecord("learner"), full)), {})
    assert cause is not None
    assert "spec.engine.pod.resources.limits.memory above 4Gi" in cause.words


def test_engine_with_other_weights_takes_its_pod_along() -> None:
    wrong = p.proof(POD.meta.name, 0, result=ProofResult.MISMATCH)
    (removed,) = p.actions_of(engines(seen(EngineState.UNVERIFIED, wrong), p.NOW), Remove)
    assert removed.record == POD, "Kubernetes knows the pod, not the engine in it"


def test_group_is_made_once_isolation_is_proven_and_it_counts_as_started() -> None:
    made = learner(p.seen(run_of()), p.NOW)
    (create,) = p.actions_of(made, Create)
    assert [c["name"] for c in create.manifest["spec"]["template"]["spec"]["containers"]] == ["learner", "engine"]
