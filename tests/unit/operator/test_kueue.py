"""A run with a queue has no pod before Kueue admits it, gives all back when Kueue says so, and tells its end."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support import kueue as k
from tests.support import pictures as p
from tests.support.children import make_run, make_site, workloads
from tests.support.pod_settings import PLACEMENT
from tests.support.tiny_world import TinyWorld

from spade_contracts.labels import Role
from spade_contracts.resources import Phase, Reason, RunCondition, SpadeRunStatus
from spade_operator.queueing import Place, Queueing, Standing, flavor_place, places, standing_of
from spade_operator.reconcile.accept import accept
from spade_operator.reconcile.decide import decide
from spade_operator.reconcile.kueue import admitted, queued, workload
from spade_operator.reconcile.marks import marked
from spade_operator.reconcile.observe import Observed
from spade_operator.reconcile.pod_sets import asked, workload_of
from spade_operator.reconcile.steps import Action, Create, MarkWorkload, Remove
from spade_operator.reconcile.steps import WorkloadMark as Mark
from spade_operator.reconcile.work import paused
from spade_operator.records import Kind, WorkloadRecord, record_of

ROOT = Path(__file__).parents[3]
SITE = p.SITE.model_copy(update={"kueue": True})
READ = Queueing(True, flavors={k.FLAVOR: flavor_place({"spec": k.PLACE})})
SPOT = READ.flavors[k.FLAVOR]
RUNS = Standing(reserved=True, admitted=True, flavors={"worker": (k.FLAVOR,)})
SUSPENDED = RunCondition.SUSPENDED


def found(standing: Standing = RUNS, *, deleting: bool = False, **spec: Any) -> WorkloadRecord:
    """The Workload of a run with these fields."""
    run = p.run_record(**{"queueName": "team", **spec})
    assert run.spec is not None
    return WorkloadRecord(p.meta(Kind.WORKLOAD, "mini-workload", deleting=deleting), asked(run.spec), standing)


def seen(
    standing: Standing | None, *, queueing: Queueing = READ, holding: tuple[RunCondition, ...] = p.AT_WORK, **spec: Any
) -> Observed:
    """A run without pods that has a queue and such a Workload, or none."""
    picture = p.seen(p.run_record(p.holding(*holding), **{"queueName": "team", **spec}))
    record = None if standing is None else found(standing, **spec)
    return replace(picture, site=SITE, workload=record, queueing=queueing)


def at_work(standing: Standing = RUNS, **spec: Any) -> Observed:
    """The same with pods."""
    picture = p.at_work(0, run=p.run_record(p.holding(*p.AT_WORK), **{"queueName": "team", **spec}))
    return replace(picture, site=SITE, workload=found(standing, **spec), queueing=READ)


def marks(action: Action) -> dict[str, tuple[bool, str]]:
    assert isinstance(action, MarkWorkload)
    return {mark.type: (mark.holds, mark.reason) for mark in action.marks}


# Whether it may run


def test_a_run_without_a_queue_is_never_asked() -> None:
    picture = p.at_work()
    assert admitted(picture)
    assert (workload(picture, p.NOW).actions, queued(picture, p.NOW).blocks) == ((), False)


@pytest.mark.parametrize(
    "standing",
    [
        None,
        Standing(),
        replace(RUNS, admitted=False),
        replace(RUNS, evicted="Preempted"),
        replace(RUNS, finished=True),
        replace(RUNS, flavors={"worker": ("unread",)}),
    ],
)
def test_a_run_holds_no_pod_unless_its_workload_is_admitted(standing: Standing | None) -> None:
    step = queued(seen(standing), p.NOW)
    assert step.blocks
    assert step.phase is Phase.SUSPENDED
    assert p.wanted(step, SUSPENDED)[:2] == ("True", Reason.QUEUED)
    assert not queued(seen(RUNS), p.NOW).blocks


def test_what_changed_since_or_goes_already_is_not_admitted() -> None:
    assert admitted(at_work())
    assert not admitted(replace(at_work(), workload=found(engine={"replicas": 2})))
    assert not admitted(replace(at_work(), workload=found(deleting=True)))


def test_kueues_words_are_shown() -> None:
    status, _, message = p.wanted(queued(seen(Standing(words="insufficient quota")), p.NOW), SUSPENDED)
    assert (status, message) == ("True", "LocalQueue team: insufficient quota")
    unread = queued(seen(replace(RUNS, flavors={"worker": ("unread",)})), p.NOW)
    assert "ResourceFlavor unread" in p.wanted(unread, SUSPENDED)[2]


def test_pods_go_first_when_the_quota_is_wanted_back() -> None:
    step = queued(at_work(replace(RUNS, evicted="Preempted", words="preempted")), p.NOW)
    assert {a.record.meta.name for a in p.actions_of(step, Remove)} >= {pod.meta.name for pod in at_work().pods}
    assert p.wanted(step, SUSPENDED)[:2] == ("False", Reason.SUSPENDING)


# The Workload


def test_one_is_made_once_the_run_is_to_go_and_its_priority_is_known() -> None:
    (made,) = workload(seen(None), p.NOW).actions
    assert isinstance(made, Create)
    spec = made.manifest["spec"]
    assert spec["queueName"] == "team"
    assert "priorityClassRef" not in spec
    urgent: dict[str, Any] = {"learner": {"pod": {"priorityClassName": "urgent"}}}
    assert workload(seen(None, **urgent), p.NOW).actions == ()
    assert "urgent" in p.wanted(queued(seen(None, **urgent), p.NOW), SUSPENDED)[2]
    (made,) = workload(seen(None, queueing=Queueing(True, priorities={"urgent": 7}), **urgent), p.NOW).actions
    assert isinstance(made, Create)
    spec = made.manifest["spec"]
    assert (spec["priority"], spec["priorityClassRef"]["name"]) == (7, "urgent")


def test_pod_sets_are_the_most_that_a_run_may_hold() -> None:
    run = make_run(queueName="team", sandbox={"minPods": 2, "maxPods": 9}, engine={"replicas": 3}, workers={"play": 5})
    sets = {one["name"]: one for one in workload_of(run, make_site(), None)["spec"]["podSets"]}
    assert {name: one["count"] for name, one in sets.items()} == {
        "sandbox": 9, "beacon": 1, "engine": 3, "learner": 1, "worker": 5,
    }  # fmt: skip
    built = workloads(run, make_site())
    for name, word in (("sandbox", "sandbox"), ("engine", "engine"), ("worker", "play")):
        (container,) = sets[name]["template"]["spec"]["containers"]
        (real,) = built[word]["spec"]["template"]["spec"]["containers"]
        assert container["resources"] == {key: real["resources"][key] for key in ("requests", "limits")}
    assert sets["sandbox"]["template"]["spec"]["runtimeClassName"] == "gvisor"


def test_every_field_of_the_workload_is_one_that_kueue_knows() -> None:
    crds = json.loads((ROOT / "tests/data/kueue/crds.json").read_text())["items"]
    (version,) = next(one for one in crds if one["spec"]["names"]["kind"] == "Workload")["spec"]["versions"]
    pod = {"pod": PLACEMENT | {"resources": {"limits": {"example.com/gpu": "1"}}}}
    run = make_run(queueName="team", learner=pod, engine=pod, workers=pod, sandbox={"pod": PLACEMENT})
    spec = workload_of(run, make_site(), 7)["spec"]
    assert version["name"] == "v1beta2"
    assert sorted(unknown(spec, version["schema"]["openAPIV3Schema"]["properties"]["spec"], "spec")) == []


def unknown(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    """Paths of fields that a structural schema does not have, and of those that it misses."""
    if isinstance(value, list):
        for one in value:
            yield from unknown(one, schema["items"], f"{path}[]")
    elif isinstance(value, dict) and "properties" in schema:
        yield from (f"{path} lacks {name}" for name in set(schema.get("required", ())) - value.keys())
        for name, content in value.items():
            if name in schema["properties"]:
                yield from unknown(content, schema["properties"][name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif not isinstance(value, dict):
        kinds: dict[str, type] = {"string": str, "integer": int, "boolean": bool}
        if "type" in schema and not isinstance(value, kinds.get(schema["type"], object)):
            yield f"{path} is {value!r}"


def test_colocated_engines_count_in_the_learners_pods() -> None:
    run = make_run(
        queueName="team",
        placement="Colocated",
        learner={"deviceClaimTemplate": "gpus"},
        engine={"replicas": 1},
    )
    sets = {one["name"]: one for one in workload_of(run, make_site(), None)["spec"]["podSets"]}
    assert "engine" not in sets
    assert [one["name"] for one in sets["learner"]["template"]["spec"]["containers"]] == ["learner", "engine"]


@pytest.mark.parametrize(
    "change",
    [
        {"queueName": "other"},
        {"engine": {"replicas": 2}},
        {"sandbox": {"maxPods": 9}},
        {"workers": {"pod": {"resources": {"requests": {"cpu": 4}}}}},
    ],
)
def test_a_run_that_asks_for_something_else_gets_a_new_one_when_its_pods_are_gone(change: dict[str, Any]) -> None:
    changed = replace(at_work(**change), workload=found())
    assert workload(changed, p.NOW).actions == ()
    assert queued(changed, p.NOW).blocks
    gone = replace(seen(RUNS, **change), workload=found())
    assert workload(gone, p.NOW).actions == (Remove(found()),)


def test_rollouts_and_history_are_nothing_to_ask_for() -> None:
    assert found(rollouts=9, history={"envBatches": 1}).asked == found().asked


@pytest.mark.parametrize("suspend", ["Now", "AtBoundary"])
def test_a_suspended_run_gives_its_place_up_once_its_pods_are_gone(suspend: str) -> None:
    assert workload(at_work(suspend=suspend), p.NOW).actions == ()
    record = found(suspend=suspend)
    assert workload(seen(RUNS, suspend=suspend), p.NOW).actions == (Remove(record),)
    assert workload(seen(None, suspend=suspend), p.NOW).actions == ()


def test_one_that_is_of_no_use_any_more_goes() -> None:
    unqueued = replace(p.seen(), workload=found())
    assert workload(unqueued, p.NOW).actions == (Remove(found()),)
    assert workload(replace(unqueued, workload=found(deleting=True)), p.NOW).actions == ()


@pytest.mark.parametrize(
    ("reason", "at_once"), [("Preempted", True), ("NodeFailures", True), ("PodsReadyTimeout", False)]
)
def test_the_reservation_ends_when_no_pod_uses_it(reason: str, at_once: bool) -> None:
    standing = replace(RUNS, evicted=reason, pods_ready=True)
    assert workload(at_work(standing), p.NOW).actions == ()
    (action,) = workload(seen(standing), p.NOW).actions
    assert isinstance(action, MarkWorkload)
    assert action.gives_back
    assert marks(action) == {
        "Requeued": (at_once, reason),
        "QuotaReserved": (False, "Pending"),
        "Admitted": (False, "NoReservation"),
        "PodsReady": (False, "WaitForStart"),
    }
    assert workload(seen(replace(standing, reserved=False, admitted=False)), p.NOW).actions == ()


def test_kueue_is_told_once_that_everything_is_ready() -> None:
    (action,) = workload(at_work(), p.NOW).actions
    assert marks(action) == {"PodsReady": (True, "Started")}
    assert workload(at_work(replace(RUNS, pods_ready=True)), p.NOW).actions == ()
    assert workload(seen(RUNS, holding=(RunCondition.ACCEPTED,)), p.NOW).actions == ()


@pytest.mark.parametrize(
    ("end", "reason", "again"),
    [(RunCondition.COMPLETE, "Succeeded", {"rollouts": 9}), (RunCondition.FAILED, "Failed", {"retry": 1})],
)
def test_the_end_is_told_when_the_pods_are_gone_and_a_run_that_goes_on_gets_a_new_one(
    end: RunCondition, reason: str, again: dict[str, Any]
) -> None:
    def ended(status: dict[str, Any], standing: Standing = RUNS, **spec: Any) -> Observed:
        picture = p.seen(p.run_record(p.holding(end, rollout=4, **status), queueName="team", **spec))
        return replace(picture, site=SITE, workload=found(standing), queueing=READ)

    (action,) = workload(ended({}), p.NOW).actions
    assert marks(action) == {"Finished": (True, reason)}
    still = replace(ended({}), pods=(p.ENGINE,))
    assert workload(still, p.NOW).actions == ()
    assert workload(ended({}, replace(RUNS, finished=True)), p.NOW).actions == ()
    assert workload(replace(ended({}), workload=None), p.NOW).actions == ()
    (action,) = workload(ended({}, replace(RUNS, finished=True), **again), p.NOW).actions
    assert isinstance(action, Remove)


# Without Kueue


def test_a_queue_needs_the_installations_consent_and_kueue() -> None:
    refused = p.wanted(accept(replace(seen(None), site=p.SITE), p.NOW), RunCondition.ACCEPTED)
    assert (refused[1], "kueue.enabled" in refused[2]) == (Reason.NOT_ALLOWED, True)
    missing = accept(seen(None, queueing=Queueing(False)), p.NOW)
    assert p.wanted(missing, RunCondition.ACCEPTED)[1] == Reason.KUEUE_MISSING
    assert missing.blocks
    waiting = queued(replace(seen(None), head=p.run_record(refused_for_kueue(), queueName="team")), p.NOW)
    assert p.wanted(waiting, RunCondition.ACCEPTED)[1] == Reason.QUEUED
    assert not accept(seen(None), p.NOW).blocks
    over = p.seen(p.run_record(p.holding(RunCondition.COMPLETE, rollout=4), queueName="team"))
    assert not accept(over, p.NOW).blocks, "what is over needs no queue"
    assert not accept(replace(p.seen(), queueing=Queueing(False)), p.NOW).blocks


def refused_for_kueue() -> SpadeRunStatus:
    """Of a run that waited for Kueue."""
    return SpadeRunStatus(conditions=(p.condition(RunCondition.ACCEPTED, False, Reason.KUEUE_MISSING),))


def test_nothing_changes_before_kueue_was_looked_at() -> None:
    unknown = replace(at_work(), workload=None, queueing=Queueing())
    decision = decide(unknown, p.NOW)
    assert decision.actions == ()
    assert decision.status.conditions == unknown.status.conditions
    assert not paused(unknown)


# What Kueue says


def test_standing_is_read_from_conditions() -> None:
    def read(*marks: Mark, **status: Any) -> Standing:
        return standing_of({"status": {"conditions": marked((), marks, 1, p.NOW), **status}})

    assert read() == Standing()
    waiting = read(*k.WAITS)
    assert (waiting.runs, waiting.words[:22]) == (False, "couldn't assign flavor")
    assert read(*k.ADMITTED).runs
    evicted = read(*k.ADMITTED, *k.PREEMPTED)
    assert (evicted.runs, evicted.reserved, evicted.evicted) == (False, True, "Preempted")
    assert evicted.words.startswith("Preempted to accommodate")
    assert read(*k.PREEMPTED, *k.WAITS).words == waiting.words
    assert read(*k.READMITTED).runs
    assert read(*k.ADMITTED, Mark("Finished", True, "Succeeded", "")).finished


def test_places_are_flavors_and_what_ready_checks_add() -> None:
    update = {"name": "worker", "nodeSelector": {"example.com/request": "one"}}
    status = {
        "admission": {"podSetAssignments": [{"name": "worker", "flavors": {"cpu": "spot", "memory": "spot"}}]},
        "admissionChecks": [
            {"state": "Ready", "podSetUpdates": [update]},
            {"state": "Pending", "podSetUpdates": [{"name": "worker", "nodeSelector": {"example.com/no": "no"}}]},
        ],
    }
    standing = standing_of({"status": status})
    found = places(standing, READ)
    assert found is not None
    assert found[Role.WORKER] == Place({**SPOT.node_selector, "example.com/request": "one"}, SPOT.tolerations)
    assert found[Role.PREPARE] == found[Role.WORKER]
    assert Role.ENGINE not in found
    assert places(standing, Queueing()) is None


def test_pods_go_where_their_flavor_is() -> None:
    own = {
        "nodeSelector": {"example.com/disk": "fast"},
        "tolerations": [{"key": "example.com/spot", "operator": "Exists"}],
    }
    run = replace(make_run(engine={"pod": own}), places={Role.ENGINE: SPOT, Role.SANDBOX: SPOT})
    built = {word: one["spec"]["template"]["spec"] for word, one in workloads(run, make_site()).items()}
    assert built["engine"]["nodeSelector"] == {"example.com/disk": "fast", "example.com/pool": "spot"}
    assert built["engine"]["tolerations"] == k.PLACE["tolerations"]
    assert built["sandbox"]["nodeSelector"] == {"example.com/pool": "spot"}
    assert "nodeSelector" not in built["learner"]


# From beginning to end


def test_a_run_waits_goes_is_preempted_waits_again_and_completes() -> None:
    world = TinyWorld(site=SITE, rollouts=2, queueName="team")
    world.facts.queueing = Queueing(True)
    go(world, lambda: workload_in(world) is not None)
    go(world)
    assert (world.pods(), world.jobs(), world.run.status.phase) == ([], [], Phase.SUSPENDED)
    say(world, *k.WAITS)
    go(world)
    assert "insufficient unused quota" in condition(world)[1]

    world.facts.queueing = READ
    say(world, *k.ADMITTED, admission=True)
    go(world, lambda: world.run.status.rollout == 1)
    assert standing(world).pods_ready
    assert condition(world)[0] == "False"

    say(world, *k.PREEMPTED)
    go(world, lambda: not standing(world).reserved)
    assert world.pods() == []
    assert all(job.complete for job in world.jobs())
    assert not standing(world).pods_ready
    go(world)
    assert (world.pods(), condition(world)[0]) == ([], "True")

    say(world, *k.READMITTED, admission=True)
    go(world, lambda: standing(world).finished)
    assert world.holds("Complete")
    assert world.trained == 2
    assert not any(lost.total for lost in world.run.status.restarts.values()), "preemption costs no budget"

    world.change(rollouts=3, queueName="team")
    go(world, lambda: workload_in(world) is not None and not standing(world).finished)
    assert world.pods() == []
    say(world, *k.ADMITTED, admission=True)
    go(world, lambda: standing(world).finished)
    assert world.run.status.rollout == 3


def workload_in(world: TinyWorld) -> WorkloadRecord | None:
    record = world.truth.get((Kind.WORKLOAD, "mini-workload"))
    assert record is None or isinstance(record, WorkloadRecord)
    return record


def standing(world: TinyWorld) -> Standing:
    """As it is now; where there is none, one that says nothing."""
    record = workload_in(world)
    return Standing() if record is None else record.standing


def condition(world: TinyWorld) -> tuple[str, str]:
    """Status and message of Suspended."""
    found = next(c for c in world.run.status.conditions if c.type == SUSPENDED)
    return str(found.status), found.message


def say(world: TinyWorld, *marks: Mark, admission: bool = False) -> None:
    """Kueue writes, and the operator looks."""
    record = workload_in(world)
    assert record is not None
    more = {"admission": k.admission(world.manifests[record.meta.uid])} if admission else {}
    world.facts.put(world.mark_workload(record, marks, **more))


def go(world: TinyWorld, until: Callable[[], bool] | None = None, rounds: int = 60) -> None:
    """Everybody does what there is to do, for a few rounds or until something holds."""
    for _ in range(rounds if until is not None else 8):
        if until is not None and until():
            return
        world.wait(5)
        world.hear(Kind.WORKLOAD)
        world.poll()
        for record in world.wants_passes():
            wanted = world.decided(record)
            for action in wanted.actions:
                world.do(action)
            world.write(wanted)
        world.controllers()
        world.kubelet()
        world.work()
    assert until is None, f"not within {rounds} rounds: {world.run.status.doing}"


def test_the_record_of_a_workload_has_what_the_run_asked_for() -> None:
    manifest = workload_of(make_run(queueName="team"), make_site(), None)
    record = record_of(Kind.WORKLOAD, manifest)
    assert isinstance(record, WorkloadRecord)
    assert record.asked == asked(make_run(queueName="team").spec)
    assert record.meta.run == "mini"
