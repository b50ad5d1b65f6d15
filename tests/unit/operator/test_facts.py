"""The store never goes back in time: not for late events, stale lists or objects that were seen deleted."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.pictures import NOW, RUN, SITE, meta, pod, run_record

from spade_contracts.labels import Role
from spade_operator.facts import REMEMBERED_TAKEN, Facts, Poll
from spade_operator.reconcile.observe import observe
from spade_operator.records import ChildRecord, DeploymentRecord, Kind, PodRecord


def version(of: PodRecord, number: int, phase: str = "Running") -> PodRecord:
    return replace(of, meta=replace(of.meta, resource_version=str(number)), phase=phase)


POD = pod(Role.ENGINE)


@given(st.permutations(range(1, 8)))
def test_newest_version_stands_in_whatever_order_versions_arrive(order: list[int]) -> None:
    facts = Facts()
    for number in order:
        facts.put(version(POD, number, phase=f"phase {number}"))
    assert facts.family("default", RUN) == (version(POD, 7, "phase 7"),)


def test_object_that_was_seen_deleted_does_not_come_back() -> None:
    facts = Facts()
    facts.put(POD)
    facts.forget(POD)
    assert not facts.put(version(POD, 99))
    assert facts.family("default", RUN) == ()


def test_namesake_with_another_uid_takes_the_place_whatever_its_version() -> None:
    facts = Facts()
    facts.put(version(POD, 50))
    other = replace(POD, meta=replace(POD.meta, uid="another", resource_version="3"))
    assert facts.put(other)
    assert facts.family("default", RUN) == (other,)


def test_list_removes_what_it_lacks_but_not_what_is_newer_than_the_list() -> None:
    facts = Facts()
    old, new = version(pod(Role.ENGINE, "old"), 5), version(pod(Role.ENGINE, "new"), 15)
    facts.put(old)
    facts.put(new)
    facts.relist(Kind.POD, [], "10")
    assert facts.family("default", RUN) == (new,)


def test_why_a_pod_was_taken_away_outlives_it_and_a_plain_deletion_leaves_nothing() -> None:
    facts = Facts()
    taken, deleted = replace(POD, disruption="DeletionByPodGC", phase="Failed"), pod(Role.ENGINE, "deleted")
    for record in (taken, deleted):
        facts.put(record)
        facts.forget(record)
    assert facts.taken("default", RUN) == (taken,)
    assert facts.taken("default", "another") == ()
    for number in range(REMEMBERED_TAKEN):
        facts.forget(replace(pod(Role.ENGINE, f"e-{number}"), disruption="DeletionByPodGC"))
    assert len(facts.taken("default", RUN)) == REMEMBERED_TAKEN
    assert taken not in facts.taken("default", RUN)


def test_unchanged_object_is_no_news() -> None:
    facts = Facts()
    assert facts.put(POD)
    assert not facts.put(POD)


def test_answers_of_a_pod_leave_with_it() -> None:
    facts = Facts()
    facts.put(POD)
    facts.set_poll(POD, Poll(None, "", NOW))
    facts.forget(POD)
    facts.set_poll(POD, Poll(None, "late", NOW))
    assert facts.poll(POD.meta.uid) is None


def test_adopted_children_of_a_deleted_run_are_dropped_and_may_be_found_again() -> None:
    facts = Facts()
    claim = ChildRecord(meta(Kind.CLAIM, "mini-storage", run_uid=""))
    facts.put(claim)
    facts.drop_adopted("default", RUN)
    assert facts.families() == ()
    assert facts.put(claim), "the retained claim is the next run's"


def test_dropped_secrets_are_known_again_by_the_next_apply_of_the_same_object() -> None:
    facts = Facts()
    secret, claim = ChildRecord(meta(Kind.SECRET, "mini-tokens")), ChildRecord(meta(Kind.CLAIM, "mini-storage"))
    facts.put(secret)
    facts.put(claim)
    facts.drop_secrets()
    assert facts.family("default", RUN) == (claim,)
    assert facts.put(secret)


def test_record_keeps_its_deletion_until_the_watch_says_it_is_gone() -> None:
    facts = Facts()
    facts.put(POD)
    facts.mark_deleting(POD, 5)
    (known,) = facts.family("default", RUN)
    assert (known.meta.deleting, known.meta.grace_seconds) == (True, 5)
    assert facts.run("default", RUN) is None
    facts.put(run_record())
    assert [run.meta.name for run in facts.runs()] == [RUN]


def test_picture_of_a_run_holds_pods_that_were_taken_from_it_and_none_of_its_namesakes() -> None:
    facts = Facts()
    run = run_record()
    facts.put(run)
    taken = replace(POD, disruption="DeletionByPodGC", phase="Failed")
    before = replace(taken, meta=replace(taken.meta, uid="older", run_uid="of a deleted run of the same name"))
    for record in (taken, before):
        facts.forget(record)
    seen = observe(facts, SITE, "default", RUN)
    assert seen is not None
    assert seen.present_and_taken(Role.ENGINE) == (taken,)
    assert seen.present_and_taken(Role.LEARNER) == ()


def test_sandboxes_beside_are_those_that_other_families_of_the_namespace_have_drain_or_are_about_to_have() -> None:
    facts = Facts()
    for namespace, run, live, leaving, replicas in (
        ("default", RUN, 3, 0, 3), ("default", "other", 2, 1, 3), ("default", "third", 1, 0, None),
        ("far", "far", 4, 0, 4),
    ):  # fmt: skip
        where: dict[str, Any] = {"namespace": namespace, "run": run, "role": Role.SANDBOX}
        for number in range(live + leaving):
            who = meta(Kind.POD, f"{run}-{number}", deleting=number >= live, **where)
            facts.put(PodRecord(who, phase="Running"))
        facts.put(PodRecord(meta(Kind.POD, f"{run}-failed", **where), phase="Failed"))
        if replicas is not None:
            facts.put(DeploymentRecord(meta(Kind.DEPLOYMENT, f"{run}-sandbox", **where), replicas))
    assert facts.sandboxes_beside("default", RUN) == (3 + 1) + 1
    with facts.claiming({("default", "third"): 5}):
        assert facts.sandboxes_beside("default", RUN) == (3 + 1) + 5
    assert facts.sandboxes_beside("default", RUN) == (3 + 1) + 1
