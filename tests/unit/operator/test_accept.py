"""A spec that cannot run is refused with its field and what to write; nothing else is done for it."""

from dataclasses import replace

import pytest
from tests.support import pictures as p
from tests.support.surroundings import cluster, quota

from spade_contracts.errors import InvalidInput
from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition, SpadeRunStatus
from spade_contracts.statuses import PrepareResult
from spade_operator.preflight.surroundings import Surroundings
from spade_operator.reconcile.accept import accept, check
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.prepare import prepare
from spade_operator.reconcile.steps import Step

WITH_SECRET = {
    "workers": {
        "pod": {
            "volumes": [
                {"mountPath": "/mnt/key", "secret": {"secretName": "key"}},
                {"mountPath": "/mnt/models", "persistentVolumeClaim": {"claimName": "models"}},
            ]
        }
    }
}


def test_problem_of_the_spec_is_the_conditions_message_and_stops_everything() -> None:
    seen = p.seen(p.run_record(problem="spec.rollouts: Input should be at least 1"))
    decision = decide(seen, p.NOW)
    assert decision.actions == ()
    assert decision.status.phase is Phase.PENDING
    (condition,) = decision.status.conditions
    assert (condition.type, condition.reason) == (RunCondition.ACCEPTED, Reason.INVALID_SPEC)
    assert condition.message == "spec.rollouts: Input should be at least 1"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"model": {"uri": "https://example.org/model"}}, "spec.model.uri"),
        ({"environments": {"corpus": {"uri": "gs://bucket/corpus"}}}, "spec.environments.corpus.uri"),
        ({"sandbox": {"minPods": 5, "maxPods": 2}}, "spec.sandbox.minPods"),
        ({"engine": {"args": {"max-model-len": "128"}}}, "spec.engine.args.max-model-len"),
        ({"environments": {"verification": {"stages": ["Judge"]}}}, "judge.url: is empty"),
        ({"environments": {"verification": {"judge": {"url": "http://judge/v1"}}}}, "judge.url: is not used"),
        ({"environments": {"verification": {"judge": {"source": "Policy"}}}}, "judge.source: is not used"),
        (
            {
                "environments": {
                    "verification": {"stages": ["Judge"], "judge": {"source": "Policy", "url": "http://judge/v1"}}
                }
            },
            "judge.url: is not used",
        ),
        ({"model": {"uri": "file:///mnt/key/model"}, **WITH_SECRET}, "spec.model.uri"),
        ({"environments": {"corpus": {"uri": "file:///mnt/key"}}, **WITH_SECRET}, "spec.environments.corpus.uri"),
        ({"environments": {"corpus": {"uri": "file:////mnt//key/./x"}}, **WITH_SECRET}, "spec.environments.corpus.uri"),
    ],
)
def test_what_single_fields_cannot_say_is_checked_too(spec: dict[str, object], field: str) -> None:
    run = p.run_record(**spec)
    assert run.spec is not None
    with pytest.raises(InvalidInput, match=field):
        check(run.spec)
    assert accept(p.seen(run), p.NOW).blocks


@pytest.mark.parametrize("uri", ["file:///mnt/keys/model", "file:///mnt/models/one", "file:///storage/model"])
def test_models_in_claims_are_fine_beside_a_secret(uri: str) -> None:
    run = p.run_record(model={"uri": uri}, **WITH_SECRET)
    assert run.spec is not None
    check(run.spec)


@pytest.mark.parametrize(
    ("parallelism", "field"),
    [
        ({"pipeline": 2}, "spec.learner.parallelism.pipeline"),
        ({"context": 2}, "spec.learner.parallelism.context"),
    ],
)
def test_layout_that_is_not_trained_yet_is_refused_before_anything_starts(
    parallelism: dict[str, int], field: str
) -> None:
    step = accept(p.seen(p.run_record(learner={"ranksPerNode": 4, "parallelism": parallelism})), p.NOW)
    (condition,) = step.conditions
    assert step.blocks
    assert condition.reason is Reason.NOT_SUPPORTED
    assert condition.message.startswith(field)


def test_tensor_parallelism_alone_is_left_to_preparation_which_knows_the_model() -> None:
    learner = {"ranksPerNode": 2, "parallelism": {"tensor": 2}}
    assert not accept(p.seen(p.run_record(learner=learner)), p.NOW).blocks


def test_the_policy_may_judge() -> None:
    run = p.run_record(environments={"verification": {"stages": ["Judge"], "judge": {"source": "Policy"}}})
    assert run.spec is not None
    check(run.spec)


def test_judge_with_its_stage_is_fine() -> None:
    verification = {"stages": ["Mutants", "Judge"], "judge": {"url": "http://judge/v1", "model": "m"}}
    run = p.run_record(environments={"verification": verification})
    assert run.spec is not None
    check(run.spec)


def test_good_spec_passes_without_a_word() -> None:
    step = accept(p.seen(), p.NOW)
    assert (step.actions, step.conditions, step.blocks) == ((), (), False)


def test_run_that_lacks_something_of_its_cluster_waits_before_anything_is_made_for_it() -> None:
    seen = replace(p.seen(), around=cluster(runtime_classes={}, quotas=(quota({"pods": "2"}),)))
    decision = decide(seen, p.NOW)
    assert decision.actions == ()
    (condition,) = decision.status.conditions
    assert (condition.type, condition.status, condition.reason) == ("Accepted", "False", Reason.RUNTIME_CLASS_MISSING)
    assert "Quota small is smaller than the run" in condition.message, "all that is missing is told at once"
    assert condition.message.endswith("goes on by itself when that is mended.")


@pytest.mark.parametrize("around", [None, Surroundings(), cluster(nodes=())])
def test_run_does_not_wait_for_what_is_unknown_or_may_pass(around: Surroundings | None) -> None:
    assert accept(replace(p.seen(), around=around), p.NOW) == Step()


def test_run_waits_for_a_look_that_is_on_its_way() -> None:
    due = replace(p.seen(), look_is_due=True)
    decision = decide(due, p.NOW)
    assert decision.actions == ()
    assert [(c.type, c.reason) for c in decision.status.conditions] == [("Accepted", Reason.PREPARING)]
    assert accept(replace(p.at_work(), look_is_due=True), p.NOW) == Step(), "not once it is accepted"
    resting = p.run_record(SpadeRunStatus(phase=Phase.SUSPENDED), suspend="Now")
    assert accept(replace(p.seen(resting), look_is_due=True), p.NOW) == Step(), "nobody looks for one that rests"


def test_run_that_is_accepted_is_not_asked_again() -> None:
    assert accept(replace(p.at_work(), around=cluster(runtime_classes={})), p.NOW) == Step()


def test_shortages_stand_in_the_message_of_an_accepted_run() -> None:
    result = PrepareResult(accepted=True, model_parameters=5, model_experts=8, corpus_documents=9)
    done = p.ended(0, result.model_dump_json())
    pod = p.pod(Role.PREPARE, job="mini-prepare", phase="Succeeded", containers=(done,))
    seen = p.seen(pods=[pod], jobs=[p.job("mini-prepare", Role.PREPARE)])
    step = prepare(replace(seen, around=cluster(nodes=())), p.NOW)
    status, reason, message = p.wanted(step, RunCondition.ACCEPTED)
    assert (status, reason) == ("True", Reason.PREPARED)
    assert "When it was accepted: No node takes pods of these roles: prepare, sandbox," in message
