"""A stand-alone EnvBatch has the children of a run that it needs, by the same builders, and no other."""

import base64

from tests.support.children import make_pool, make_run, make_site, pool_children, pool_workloads

from spade_contracts.labels import RUN, Role
from spade_contracts.resources.pods import PodSettings
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import batch_of, pool_family
from spade_operator.children.owner import WORKER_RESTARTS
from spade_operator.children.policies import network_policies
from spade_operator.children.secrets import token_secrets
from spade_operator.children.services import services

POOL, SITE = make_pool(), make_site()
RUN_OWNER = make_run("other").owner


def names(manifests: list[Manifest]) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in manifests]


def test_family_of_a_batch_is_no_run() -> None:
    assert pool_family("pool") == POOL.name == "pool-batch"
    assert batch_of("pool-batch") == "pool"
    assert batch_of("pool") == ""


def test_every_child_carries_the_familys_label_and_is_owned_by_the_batch() -> None:
    for child in pool_children(POOL, SITE):
        assert child["metadata"]["labels"][RUN] == "pool-batch"
        (owner,) = child["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("EnvBatch", "pool", POOL.uid)


def test_workers_hold_the_sandboxes_token_only() -> None:
    keys = {secret["metadata"]["name"]: set(secret["data"]) for secret in token_secrets(POOL, SITE)}
    assert keys == {
        "pool-batch-worker-tokens": {"sandbox-sessions"},
        "pool-batch-sandbox-tokens": {"sandbox-sessions.sha256"},
    }
    run_tokens = {base64.b64decode(v) for s in token_secrets(make_run(uid="x").owner, SITE) for v in s["data"].values()}
    own_tokens = {base64.b64decode(v) for s in token_secrets(POOL, SITE) for v in s["data"].values()}
    assert not run_tokens & own_tokens


def test_names_resolve_for_sandboxes_and_beacon() -> None:
    assert names(services(POOL)) == ["pool-batch-sandbox", "pool-batch-beacon"]


def test_policies_are_a_runs_for_the_same_roles() -> None:
    assert names(network_policies(POOL, SITE)) == [
        "pool-batch-closed", "pool-batch-sandbox", "pool-batch-worker", "pool-batch-engine", "pool-batch-control",
    ]  # fmt: skip
    of_run = {p["metadata"]["name"].removeprefix("other-"): p["spec"] for p in network_policies(RUN_OWNER, SITE)}
    for policy in network_policies(POOL, SITE):
        word = policy["metadata"]["name"].removeprefix("pool-batch-")
        assert str(policy["spec"]).replace("pool-batch", "other") == str(of_run[word])


def test_pods_are_as_locked_down_as_a_runs() -> None:
    sandbox = pool_workloads(POOL, SITE)["sandbox"]["spec"]["template"]["spec"]
    assert sandbox["runtimeClassName"] == "gvisor"
    assert sandbox["readinessGates"] == [{"conditionType": "spade.dev/isolated"}]
    verify = pool_workloads(POOL, SITE)["verify"]["spec"]["template"]
    assert verify["metadata"]["labels"]["spade.dev/role"] == Role.WORKER
    claims = [v["persistentVolumeClaim"] for v in verify["spec"]["volumes"] if "persistentVolumeClaim" in v]
    assert claims == [{"claimName": "programs", "readOnly": False}]


def test_what_the_batch_does_not_say_has_defaults() -> None:
    assert (POOL.worker_pod, POOL.worker_restarts) == (PodSettings(), WORKER_RESTARTS)
    own = make_pool(restarts=0, sandbox={"minPods": 2})
    assert (own.worker_restarts, own.sandbox.min_pods) == (0, 2)
    assert POOL.storage_uri == "file:///storage/default/pool-batch"
