"""A run with a queue from its first wait to its end, in a world where the test is Kueue."""

from collections.abc import Callable

from tests.support import kueue as k
from tests.support import pictures as p
from tests.support.tiny_world import TinyWorld

from spade_contracts.resources import Phase, RunCondition
from spade_operator.queueing import Queueing, Standing, flavor_place
from spade_operator.reconcile.steps import Action, Apply, Create
from spade_operator.reconcile.steps import WorkloadMark as Mark
from spade_operator.records import Kind, WorkloadRecord

SITE = p.SITE.model_copy(update={"kueue": True})
READ = Queueing(True, flavors={k.FLAVOR: flavor_place({"spec": k.PLACE})})


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
    found = next(c for c in world.run.status.conditions if c.type == RunCondition.SUSPENDED)
    return str(found.status), found.message


def say(world: TinyWorld, *marks: Mark, admission: bool = False) -> None:
    """Kueue writes, and the operator looks."""
    record = workload_in(world)
    assert record is not None
    more = {"admission": k.admission(world.manifests[record.meta.uid])} if admission else {}
    world.facts.put(world.mark_workload(record, marks, **more))


def makes_pods(action: Action) -> bool:
    """Whether pods may come of it."""
    return isinstance(action, Create | Apply) and action.manifest["kind"] in (Kind.JOB, Kind.DEPLOYMENT)


def go(world: TinyWorld, until: Callable[[], bool] | None = None, rounds: int = 60) -> None:
    """Everybody does what there is to do, for a few rounds or until something holds; nothing runs without quota."""
    for _ in range(rounds if until is not None else 8):
        if until is not None and until():
            return
        world.wait(5)
        world.hear(Kind.WORKLOAD)
        world.poll()
        for record in world.wants_passes():
            wanted = world.decided(record)
            for action in wanted.actions:
                assert standing(world).runs or not makes_pods(action), f"{action} without quota"
                world.do(action)
            world.write(wanted)
        world.controllers()
        world.kubelet()
        world.work()
    assert until is None, f"not within {rounds} rounds: {world.run.status.doing}"
