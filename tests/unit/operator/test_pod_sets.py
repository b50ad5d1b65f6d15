"""What Kueue is asked for is what the run's pods would ask for, in fields that it knows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.children import make_run, make_site, workloads
from tests.support.pod_settings import PLACEMENT

from spade_operator.reconcile.pod_sets import asked, workload_of
from spade_operator.records import Kind, WorkloadRecord, record_of

ROOT = Path(__file__).parents[3]


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


def test_rollouts_and_history_are_nothing_to_ask_for() -> None:
    longer = make_run(queueName="team", rollouts=9, history={"envBatches": 1})
    assert asked(longer.spec) == asked(make_run(queueName="team").spec)


def test_the_record_of_a_workload_has_what_the_run_asked_for() -> None:
    manifest = workload_of(make_run(queueName="team"), make_site(), None)
    record = record_of(Kind.WORKLOAD, manifest)
    assert isinstance(record, WorkloadRecord)
    assert record.asked == asked(make_run(queueName="team").spec)
    assert record.meta.run == "mini"
