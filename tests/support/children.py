"""Runs and sites for tests of children."""

from ipaddress import ip_address
from pathlib import Path
from typing import Any

from spade_contracts.isolation import ProbeTarget, TargetKind
from spade_contracts.resources import EnvBatchSpec, RolloutJobSpec, SpadeRunSpec
from spade_operator.children.beacon import beacon_deployment
from spade_operator.children.design import design_job, env_batch
from spade_operator.children.engine import engine_deployment
from spade_operator.children.learner import learner_job
from spade_operator.children.manifests import Manifest
from spade_operator.children.owner import Owner, Parent, Run, pool_owner
from spade_operator.children.play import play_job, rollout_job
from spade_operator.children.policies import network_policies
from spade_operator.children.prepare import prepare_job
from spade_operator.children.sandbox import probe_targets, sandbox_deployment
from spade_operator.children.secrets import token_secrets
from spade_operator.children.services import services
from spade_operator.children.site import Site
from spade_operator.children.storage import storage_claim
from spade_operator.children.verify import verify_job

UID = "6f1c0c55-7a0e-4d0e-9a52-1f2f3d4c5b6a"
RESOURCES = {
    "prepare": {"requests": {"cpu": "200m"}, "limits": {"memory": "4Gi"}},
    "sandbox": {"requests": {"cpu": "150m", "memory": "512Mi"}, "limits": {"memory": "1536Mi"}},
    "beacon": {"requests": {"cpu": "10m"}, "limits": {"memory": "256Mi"}},
    "engine": {"requests": {"cpu": "400m"}, "limits": {"memory": "5Gi"}},
    "learner": {"requests": {"cpu": "400m"}, "limits": {"memory": "5Gi"}},
    "worker": {"requests": {"cpu": "150m"}, "limits": {"memory": "1536Mi"}},
}


def make_run(name: str = "mini", namespace: str = "default", uid: str = UID, **spec: Any) -> Run:
    """A run with the smallest spec and fields of the API (camelCase) over it."""
    whole = {"model": {"uri": "package:tiny"}, "rollouts": 4, **spec}
    return Run(namespace, name, uid, SpadeRunSpec.model_validate(whole))


def pool_spec(**spec: Any) -> EnvBatchSpec:
    """A stand-alone EnvBatch with the smallest spec and fields of the API (camelCase) over it."""
    whole = {"source": {"programs": "file:///storage/programs"}, "storage": {"claimName": "programs"}, **spec}
    return EnvBatchSpec.model_validate(whole)


def make_pool(name: str = "pool", namespace: str = "default", uid: str = UID, **spec: Any) -> Owner:
    """A stand-alone EnvBatch as builders see it."""
    return pool_owner(namespace, name, uid, pool_spec(**spec))


def pool_workloads(pool: Owner, site: Site) -> dict[str, Manifest]:
    """Every Deployment and Job of a stand-alone EnvBatch, by a word for it."""
    built = {
        "sandbox": sandbox_deployment(pool, site, 2),
        "beacon": beacon_deployment(pool, site),
        "verify": verify_job(pool, pool_spec(), site, 0),
    }
    return {word: manifest for word, (manifest,) in built.items()}


def pool_children(pool: Owner, site: Site) -> list[Manifest]:
    """Everything that a stand-alone EnvBatch is ever made of."""
    return [
        *ground(pool, site),
        *probe_targets(pool, [make_target()]),
        *pool_workloads(pool, site).values(),
    ]


def make_site(**settings: Any) -> Site:
    """A site with every image named for its role."""
    whole = {
        "images": {name: f"spade/{name}:test" for name in ("sandbox", "worker", "trainer")},
        "sandbox_runtime_class": "gvisor",
        "operator_namespace": "spade-system",
        "operator_labels": {"app": "operator"},
        "resources": RESOURCES,
        "targets": (),
        "installation_key_file": Path("/key"),
        "installation_key": b"k" * 32,
        **settings,
    }
    return Site.model_validate(whole)


def make_target(kind: TargetKind = TargetKind.DNS, host: str = "10.96.0.10", port: int = 53) -> ProbeTarget:
    """A target of the probe."""
    return ProbeTarget(name=f"{kind}-{host}", kind=kind, host=ip_address(host), port=port)


def workloads(run: Run, site: Site) -> dict[str, Manifest]:
    """Every Deployment and Job of a run, by a word for it."""
    batch = Parent("EnvBatch", f"{run.name}-c0001", "batch-uid")
    rollout = Parent("RolloutJob", f"{run.name}-r0003", "rollout-uid")
    batch_spec = EnvBatchSpec(run=run.name, cycle=1, policy_version=2, workers=run.spec.workers.design)
    rollout_spec = RolloutJobSpec(run=run.name, rollout=3, cycle=1, policy_version=3, workers=run.spec.workers.play)
    built = {
        "prepare": prepare_job(run, site),
        "sandbox": sandbox_deployment(run.owner, site, 2),
        "beacon": beacon_deployment(run.owner, site),
        "engine": engine_deployment(run, site, 1),
        "learner": learner_job(run, site, 0),
        "design": design_job(run, batch, batch_spec, site, 0),
        "play": play_job(run, rollout, rollout_spec, site, 0),
    }
    return {word: manifest for word, (manifest,) in built.items()}


def ground(owner: Owner, site: Site) -> list[Manifest]:
    """Tokens, policies and Services."""
    return [*token_secrets(owner, site), *network_policies(owner, site), *services(owner)]


def all_children(run: Run, site: Site) -> list[Manifest]:
    """Everything that a run is ever made of."""
    return [
        *storage_claim(run.owner),
        *ground(run.owner, site),
        *probe_targets(run.owner, [make_target()]),
        *workloads(run, site).values(),
        *env_batch(run, 1, 2),
        *rollout_job(run, 3, 1, 3),
    ]


def sandbox_pod(namespace: str, run: Run | None = None, **changes: Any) -> Manifest:
    """A run's sandbox pod as its Deployment would make it, with fields of its spec replaced."""
    template = workloads(run or make_run(namespace=namespace), make_site())["sandbox"]["spec"]["template"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": "stray", "namespace": namespace},
        "spec": {**template["spec"], **changes},
    }
