"""What Kueue says of a Workload is read as it means it, and pods go where their quota is."""

from dataclasses import replace
from typing import Any

from tests.support import kueue as k
from tests.support import pictures as p
from tests.support.children import make_run, make_site, workloads

from spade_contracts.labels import Role
from spade_operator.queueing import Place, Queueing, Standing, flavor_place, places, standing_of
from spade_operator.reconcile.marks import marked
from spade_operator.reconcile.steps import WorkloadMark as Mark

SPOT = flavor_place({"spec": k.PLACE})
READ = Queueing(True, flavors={k.FLAVOR: SPOT})


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
