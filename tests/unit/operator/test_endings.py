"""A complete run gives everything back and keeps its results; old objects go; pods that linger are told to hurry."""

from hypothesis import given
from hypothesis import strategies as st
from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, RunCondition
from spade_contracts.statuses import LearnerState
from spade_operator.reconcile.complete import complete
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.history import history
from spade_operator.reconcile.position import condition_true
from spade_operator.reconcile.release import GRACE_SECONDS, releases
from spade_operator.reconcile.steps import Remove, SetTarget


def test_run_is_complete_when_no_rollout_is_left() -> None:
    step = complete(p.at_work(4), p.NOW)
    assert p.wanted(step, RunCondition.COMPLETE)[0] == "True"
    assert (step.phase, step.blocks) == (Phase.COMPLETE, True)
    assert {p.SANDBOX, p.BEACON, p.ENGINE, p.LEARNER} <= {a.record for a in p.actions_of(step, Remove)}
    assert p.wanted(step, RunCondition.WEIGHTS_VERIFIED)[0] == "True", "what was proven stays proven"


def test_run_that_finds_its_rollouts_in_kept_storage_is_complete_only_when_their_last_policy_is_proven() -> None:
    for stored, wanted, words in ((18, 3, "Run storage holds 18 trained rollouts, more than the 3 wanted"), (3, 3, "")):
        found = p.run_record(p.holding(*p.AT_WORK[:-1], rollout=stored, cycle=stored // 2), rollouts=wanted)
        unproven = p.at_work(stored, run=found, pods={p.ENGINE: p.engine_says(None)}, told=None)
        waiting = decide(unproven, p.NOW)
        assert not condition_true(waiting.status.conditions, RunCondition.COMPLETE)
        assert [a.target.policy_version for a in waiting.actions if isinstance(a, SetTarget)] == [stored]
        assert (waiting.status.phase, waiting.status.policy_version) == (Phase.PROVING, None)
        proven = decide(p.at_work(stored, run=found), p.NOW).status
        end = decide(p.at_work(stored, run=p.run_record(proven, rollouts=wanted)), p.NOW).status
        assert condition_true(end.conditions, RunCondition.COMPLETE)
        assert condition_true(end.conditions, RunCondition.WEIGHTS_VERIFIED)
        assert end.policy_version == stored
        assert any(c.type == RunCondition.COMPLETE and c.message.startswith(words) for c in end.conditions)


def test_pods_do_not_go_while_a_checkpoint_of_kept_storage_is_written() -> None:
    found = p.run_record(p.holding(*p.AT_WORK, rollout=4, cycle=2))
    writing = p.learner_says(4, p.proof(p.ENGINE.meta.name, 4), state=LearnerState.EXPORTING)
    assert decide(p.at_work(4, run=found, pods={p.LEARNER: writing}), p.NOW).status.policy_version is None


def test_end_is_remembered_and_forgotten_when_more_rollouts_are_wanted() -> None:
    ended = p.holding(rollout=4, policy_version=4, finished_at="2026-01-01T10:00:00+00:00")
    assert complete(p.seen(p.run_record(ended)), p.NOW).status["finished_at"] == "2026-01-01T10:00:00+00:00"
    grown = complete(p.seen(p.run_record(ended, rollouts=5)), p.NOW)
    assert (grown.status, grown.blocks) == ({"finished_at": None}, False)


@given(
    at=st.integers(0, 8), batches=st.sets(st.integers(0, 4)), rollouts=st.sets(st.integers(0, 8)),
    keep=st.integers(0, 3),
)  # fmt: skip
def test_history_keeps_the_newest_and_all_that_is_in_work(
    at: int, batches: set[int], rollouts: set[int], keep: int
) -> None:
    run = p.run_record(
        p.holding(rollout=at, cycle=at // 2), rollouts=9, history={"envBatches": keep, "rolloutJobs": keep}
    )
    seen = p.seen(run, batches=[p.batch(n) for n in batches], rollouts=[p.plays(n) for n in rollouts])
    gone = [action.record for action in p.actions_of(history(seen, p.NOW), Remove)]
    past = sorted(n for n in rollouts if n < at)
    assert {r.spec.rollout for r in gone if isinstance(r, p.RolloutRecord)} == set(past[: max(0, len(past) - keep)])
    assert all(r.spec.cycle < at // 2 for r in gone if isinstance(r, p.BatchRecord))


def test_pod_that_goes_slowly_is_told_once_to_hurry() -> None:
    draining = p.pod(Role.SANDBOX, deleting=True, grace_seconds=3600)
    hurrying = p.pod(Role.SANDBOX, deleting=True, grace_seconds=GRACE_SECONDS)
    assert releases((draining,)) == (Remove(draining, GRACE_SECONDS),)
    assert releases((hurrying,)) == ()


def test_owners_go_before_their_pods() -> None:
    kinds = [a.record.meta.kind for a in releases((p.ENGINE, p.deployment(Role.ENGINE))) if isinstance(a, Remove)]
    assert kinds == ["Deployment", "Pod"]
