"""What `kubectl apply` takes and what it refuses, with the message that says what to write."""

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.api_server import ApiServer
from tests.support.run_objects import run_object

from spade_contracts.resources import EnvBatchSpec, SpadeRunSpec

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(
    file for pattern in ("*.yaml", "recipes/*.yaml", "ablations/*.yaml") for file in (ROOT / "examples").glob(pattern)
)
counter = itertools.count()


@pytest.fixture
def name() -> str:
    """A name no other test uses."""
    return f"run{next(counter)}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_accepted(api_server: ApiServer, path: Path) -> None:
    applied = api_server.kubectl("apply", "-f", str(path))
    assert applied.returncode == 0, applied.stderr
    (ours,) = (d for d in yaml.safe_load_all(path.read_text()) if d["apiVersion"].startswith("spade.dev/"))
    assert ours["metadata"]["name"] == path.stem
    stored = api_server.get(ours["kind"].lower(), path.stem)
    if ours["kind"] == "EnvBatch":
        EnvBatchSpec.model_validate(stored["spec"]).settings()
    else:
        SpadeRunSpec.model_validate(stored["spec"]).method()


def test_a_run_needs_only_a_model_and_a_number_of_rollouts(api_server: ApiServer, name: str) -> None:
    applied = api_server.apply(run_object(name))
    assert applied.returncode == 0, applied.stderr


def test_defaults_of_the_installation_are_filled_in_and_those_of_the_profile_are_not(
    api_server: ApiServer, name: str
) -> None:
    api_server.apply(run_object(name))
    spec = api_server.get("spaderun", name)["spec"]
    assert spec["profile"] == "Corrected"
    assert spec["learner"]["parallelism"] == {"tensor": 1, "pipeline": 1, "context": 1, "expert": 1}
    assert "environments" not in spec
    assert "optimizer" not in spec["learner"]


def test_a_quantity_may_be_a_number(api_server: ApiServer, name: str) -> None:
    pod = {"resources": {"requests": {"cpu": 2, "memory": "1.5Gi"}}}
    applied = api_server.apply(run_object(name, workers={"pod": pod}))
    assert applied.returncode == 0, applied.stderr


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown field, by its path": (
        {"environments": {"designer": {"smapling": {}}}},
        'unknown field "spec.environments.designer.smapling"',
    ),
    "a model without a source": ({"model": {}}, "spec.model has one source: write either uri or fromRun"),
    "a model with two sources": (
        {"model": {"uri": "package:tiny", "fromRun": {"name": "first"}}},
        "spec.model has one source: write either uri or fromRun",
    ),
    "a model of the hub without a commit": (
        {"model": {"uri": "hf:lab/moe"}},
        "spec.model.revision is the commit of a model of the hub: write it with hf: and only with it",
    ),
    "a branch for a commit": ({"model": {"uri": "hf:lab/moe", "revision": "main"}}, "spec.model.revision"),
    "another namespace's run": ({"model": {"fromRun": {"name": "other/first"}}}, "spec.model.fromRun.name"),
    "a namespace beside the run": (
        {"model": {"fromRun": {"name": "first", "namespace": "other"}}},
        'unknown field "spec.model.fromRun.namespace"',
    ),
    "a number of rollouts below one": ({"rollouts": 0}, "spec.rollouts"),
    "a word for a number": ({"rollouts": "many"}, "spec.rollouts"),
    "an unknown profile": ({"profile": "Better"}, '"Corrected", "Paper"'),
    "an unknown suspend": ({"suspend": "Soon"}, '"Never", "AtBoundary", "Now"'),
    "a temperature of zero": ({"play": {"sampling": {"temperature": 0}}}, "spec.play.sampling.temperature"),
    "a bad quantity": ({"storage": {"size": "ten"}}, "spec.storage.size"),
    "more active skills than skills": (
        {"environments": {"skills": ["a", "b"], "activeSkills": 3}},
        "activeSkills (3) is more than the 2 skills: name more skills or lower it",
    ),
    "more active skills than the profile has": (
        {"environments": {"activeSkills": 7}},
        "activeSkills (7) is more than the 6 skills: name more skills or lower it",
    ),
    "fewer skills than the profile activates": (
        {"environments": {"skills": ["a", "b"]}},
        "activeSkills (3) is more than the 2 skills: name more skills or lower it",
    ),
    "a skill named twice": (
        {"environments": {"skills": ["a", "b", "a"]}},
        "names a skill twice: name each once",
    ),
    "ranks that the dense layout does not divide": (
        {"learner": {"nodes": 3, "ranksPerNode": 1, "parallelism": {"tensor": 2}}},
        "3 ranks (nodes x ranksPerNode), which must be a multiple of tensor x pipeline x context = 2",
    ),
    "ranks that the expert layout does not divide": (
        {"learner": {"nodes": 1, "ranksPerNode": 6, "parallelism": {"expert": 4}}},
        "6 ranks (nodes x ranksPerNode), which must be a multiple of expert x pipeline = 4",
    ),
    "colocated nodes without an engine each": (
        {"placement": "Colocated", "learner": {"nodes": 2}},
        "write spec.engine.replicas as spec.learner.nodes",
    ),
    "a place of its own for a colocated engine": (
        {"placement": "Colocated", "engine": {"pod": {"tolerations": [{"key": "a", "operator": "Exists"}]}}},
        "write all else in spec.learner.pod",
    ),
    "a device of its own for a colocated engine": (
        {"placement": "Colocated", "engine": {"pod": {"resources": {"limits": {"nvidia.com/gpu": "1"}}}}},
        "name a ResourceClaimTemplate in spec.learner.deviceClaimTemplate",
    ),
    "a colocated engine on the node's network": (
        {"placement": "Colocated", "learner": {"fabric": "HostRdma"}},
        "use spec.learner.fabric PodNetwork or Rdma",
    ),
    "fewer pods at most than at least": (
        {"sandbox": {"minPods": 8, "maxPods": 4}},
        "minPods (8) is more than maxPods (4): lower minPods or raise maxPods",
    ),
    "at least more pods than the default at most": (
        {"sandbox": {"minPods": 5}},
        "minPods (5) is more than maxPods (4): lower minPods or raise maxPods",
    ),
    "a plateau upside down": (
        {"rewards": {"plateau": {"low": 0.9}}},
        "plateau.low is above high: write the smaller value as low",
    ),
    "a cut distribution of the player": (
        {"play": {"sampling": {"topP": 0.9}}},
        "play.sampling cuts the distribution",
    ),
    "a cut distribution of the designer": (
        {"environments": {"designer": {"sampling": {"topK": 20}}}},
        "write topP: 1 and topK: -1, or switches.logProbTemperature: One",
    ),
    "an engine argument with dashes": ({"engine": {"args": {"--max-num-seqs": "8"}}}, "without dashes in front"),
    "an engine argument that is no text": ({"engine": {"args": {"max-num-seqs": 8}}}, "spec.engine.args.max-num-seqs"),
    "an engine argument that loads code": (
        {"engine": {"args": {"trust-remote-code": "true"}}},
        "spec.engine.args may change speed, memory and layout only: use of async-scheduling,",
    ),
    "an image of the user's": ({"sandbox": {"pod": {"image": "mine"}}}, 'unknown field "spec.sandbox.pod.image"'),
    "a runtime class of the user's": (
        {"sandbox": {"pod": {"runtimeClassName": "runc"}}},
        'unknown field "spec.sandbox.pod.runtimeClassName"',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(api_server: ApiServer, name: str, case: str) -> None:
    spec, message = REFUSED[case]
    applied = api_server.apply(run_object(name, **spec))
    assert applied.returncode != 0
    assert message in applied.stderr


@pytest.mark.parametrize("bad", ["a" * 41, "1run", "my.run"])
def test_refuses_a_name_that_children_could_not_carry(api_server: ApiServer, bad: str) -> None:
    applied = api_server.apply(run_object(bad))
    assert applied.returncode != 0
    assert "use at most 40 lower-case letters, digits and dashes, beginning with a letter" in applied.stderr


@pytest.mark.parametrize(
    "spec",
    [
        {"switches": {"logProbTemperature": "One"}, "play": {"sampling": {"topP": 0.9}}},
        {"profile": "Paper"},
        {"play": {"sampling": {"topP": 1, "topK": 0}}},
        {"learner": {"nodes": 2, "ranksPerNode": 8, "parallelism": {"tensor": 2, "pipeline": 2, "expert": 4}}},
        {"environments": {"skills": ["Optimization"], "activeSkills": 1}},
        {"sandbox": {"minPods": 4, "maxPods": 4}},
        {
            "placement": "Colocated",
            "learner": {"nodes": 2, "deviceClaimTemplate": "gpus", "fabric": "Rdma"},
            "engine": {"replicas": 2, "pod": {"resources": {"limits": {"memory": "8Gi"}}, "environment": {"A": "b"}}},
        },
        {"rewards": {"plateau": {"low": 0.5, "high": 0.5}}},
    ],
)
def test_accepts_what_fits_together(api_server: ApiServer, name: str, spec: dict[str, Any]) -> None:
    applied = api_server.apply(run_object(name, **spec))
    assert applied.returncode == 0, applied.stderr


METHOD_CHANGES: dict[str, tuple[Any, Any]] = {
    "profile": ("Corrected", "Paper"),
    "seed": (1, 2),
    "model": ({"uri": "package:tiny"}, {"uri": "file:///storage/other"}),
    "environments": ({"perCycle": 4}, {"perCycle": 5}),
    "play": ({"maxTurns": 4}, {"maxTurns": 5}),
    "rewards": ({"plateauWeight": 0.5}, {"plateauWeight": 0.6}),
    "switches": ({"boxedAction": "First"}, {"boxedAction": "Last"}),
    "storage.size": ("1Gi", "2Gi"),
    "storage.claimName": ("one", "two"),
    "storage.storageClassName": ("one", "two"),
    "storage.accessMode": ("ReadWriteOnce", "ReadWriteMany"),
    "learner.nodes": (1, 2),
    "learner.ranksPerNode": (1, 2),
    "learner.parallelism": ({"expert": 1}, {"context": 2}),
    "learner.optimizer": ({"beta1": 0.9}, {"beta1": 0.8}),
    "learner.loss": ({"clipLow": 0.1}, {"clipLow": 0.2}),
    "learner.checkpointEvery": (2, 3),
    "sandbox.limits": ({"cpuSeconds": 5}, {"cpuSeconds": 6}),
}
"""Fields of the method with two values each; runs here have two ranks, so that every layout fits."""
ALWAYS_PRESENT = {
    "profile", "model", "storage.size", "storage.accessMode", "learner.nodes", "learner.ranksPerNode",
    "learner.parallelism",
}  # fmt: skip


def with_field(manifest: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with the field below spec set, or removed for None."""
    result = copy.deepcopy(manifest)
    node = result["spec"]
    *parents, last = path.split(".")
    for parent in parents:
        node = node.setdefault(parent, {})
    if value is None:
        node.pop(last, None)
    else:
        node[last] = value
    return result


@pytest.mark.parametrize("path", METHOD_CHANGES)
def test_the_methods_part_cannot_change(api_server: ApiServer, name: str, path: str) -> None:
    before, after = METHOD_CHANGES[path]
    base = with_field(run_object(name), "learner.ranksPerNode", 2)
    created = api_server.apply(with_field(base, path, before))
    assert created.returncode == 0, created.stderr
    changed = api_server.apply(with_field(base, path, after))
    assert changed.returncode != 0
    assert f"spec.{path} cannot change once the run exists: make a new SpadeRun" in changed.stderr


@pytest.mark.parametrize("path", sorted(METHOD_CHANGES.keys() - ALWAYS_PRESENT))
def test_a_field_of_the_method_can_be_neither_added_nor_removed(api_server: ApiServer, name: str, path: str) -> None:
    value = METHOD_CHANGES[path][0]
    without, with_value = run_object(name), with_field(run_object(name), path, value)
    for before, after in ((without, with_value), (with_value, without)):
        api_server.kubectl("delete", "spaderun", name, "--ignore-not-found")
        created = api_server.apply(before)
        assert created.returncode == 0, created.stderr
        changed = api_server.apply(after)
        assert changed.returncode != 0
        assert f"spec.{path} cannot change" in changed.stderr


def test_the_same_yaml_twice_changes_nothing(api_server: ApiServer) -> None:
    manifest = yaml.safe_load((ROOT / "examples" / "mini.yaml").read_text())
    manifest["metadata"]["name"] = "twice"
    api_server.apply(manifest)
    again = api_server.apply(manifest)
    assert again.returncode == 0, again.stderr
    assert "unchanged" in again.stdout
    assert api_server.get("spaderun", "twice")["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("suspend", "AtBoundary"),
        ("rollouts", 9),
        ("engine.replicas", 3),
        ("sandbox.maxPods", 9),
        ("workers.play", 2),
        ("history.rolloutJobs", 1),
        ("retention.policies", 5),
        ("storage.onDelete", "Delete"),
        ("ttlSecondsAfterFinished", 60),
        ("retry", 1),
    ],
)
def test_what_may_change_any_time(api_server: ApiServer, name: str, path: str, value: Any) -> None:
    api_server.apply(run_object(name))
    changed = api_server.apply(with_field(run_object(name), path, value))
    assert changed.returncode == 0, changed.stderr


def test_rollouts_may_only_grow(api_server: ApiServer, name: str) -> None:
    api_server.apply(run_object(name, rollouts=4))
    changed = api_server.apply(run_object(name, rollouts=3))
    assert changed.returncode != 0
    assert "spec.rollouts may only grow: write 4 or more" in changed.stderr


def test_retry_may_only_grow(api_server: ApiServer, name: str) -> None:
    api_server.apply(run_object(name, retry=2))
    changed = api_server.apply(run_object(name, retry=1))
    assert changed.returncode != 0
    assert "write a larger number to try again" in changed.stderr


def set_status(server: ApiServer, kind: str, name: str, status: dict[str, Any]) -> None:
    """Write a status as the operator would."""
    patched = server.kubectl(
        "patch", kind, name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status})
    )
    assert patched.returncode == 0, patched.stderr


@pytest.mark.parametrize("role", ["learner", "engine", "sandbox", "workers"])
def test_pod_settings_change_only_while_the_run_is_paused(api_server: ApiServer, name: str, role: str) -> None:
    manifest = run_object(name)
    changed = with_field(manifest, f"{role}.pod", {"nodeSelector": {"disk": "fast"}})
    api_server.apply(manifest)
    set_status(api_server, "spaderun", name, {"phase": "Playing"})
    refused = api_server.apply(changed)
    assert refused.returncode != 0
    assert f"spec.{role}.pod can change only while the run is suspended or failed: set spec.suspend" in refused.stderr
    set_status(api_server, "spaderun", name, {"phase": "Suspended"})
    accepted = api_server.apply(changed)
    assert accepted.returncode == 0, accepted.stderr


def test_a_runs_name_leaves_room_for_pools(api_server: ApiServer) -> None:
    refused = api_server.apply(run_object("mine-batch"))
    assert refused.returncode != 0
    assert "names ending in -batch are kept for the pods of stand-alone EnvBatches: use another name" in refused.stderr


CHILDREN = {
    "EnvBatch": {"run": "mini", "cycle": 0, "policyVersion": 0},
    "RolloutJob": {"run": "mini", "rollout": 0, "cycle": 0, "policyVersion": 0},
}


@pytest.mark.parametrize("kind", CHILDREN)
def test_specs_of_batches_and_rollouts_are_immutable(api_server: ApiServer, name: str, kind: str) -> None:
    manifest = {
        "apiVersion": "spade.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": CHILDREN[kind],
    }
    created = api_server.apply(manifest)
    assert created.returncode == 0, created.stderr
    changed = api_server.apply(with_field(manifest, "policyVersion", 1))
    assert changed.returncode != 0
    assert f"make a new {kind if kind == 'EnvBatch' else 'one'}" in changed.stderr


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("spaderuns", ["PHASE", "ROLLOUT", "OF", "POLICY", "LEARNABLE", "RETURN", "DOING", "AGE"]),
        ("envbatches", ["CYCLE", "ACCEPTED", "COMPLETE", "DOING"]),
        ("rolloutjobs", ["ROLLOUT", "POLICY", "EPISODES", "LEARNABLE", "RETURN", "COMPLETE"]),
    ],
)
def test_columns_answer_how_it_is_going(api_server: ApiServer, kind: str, columns: list[str]) -> None:
    api_server.apply(run_object("shown"))
    for child, spec in CHILDREN.items():
        api_server.apply(
            {"apiVersion": "spade.dev/v1alpha1", "kind": child, "metadata": {"name": "shown"}, "spec": spec}
        )
    header = api_server.kubectl("get", kind).stdout.splitlines()[0].split()
    assert [column for column in columns if column not in header] == []


@pytest.mark.parametrize(("short", "kind"), [("sr", "spaderuns"), ("eb", "envbatches"), ("rj", "rolloutjobs")])
def test_kinds_have_short_names(api_server: ApiServer, short: str, kind: str) -> None:
    shown = api_server.kubectl("get", short, "-o", "name")
    assert shown.returncode == 0, shown.stderr
