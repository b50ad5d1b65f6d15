"""The sandbox pool: pods that hold hostile programs. Runtime class and image come from the site, never from a run."""

from collections.abc import Sequence

from spade_contracts import ports
from spade_contracts.isolation import PROBE_TARGETS, ProbeTarget
from spade_contracts.labels import ISOLATED_GATE, Role
from spade_operator.children import installation, pods, volumes
from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import targets_name
from spade_operator.children.owner import Owner
from spade_operator.children.site import Site
from spade_operator.children.workloads import deployment

HUNG_GRACE_SECONDS = 5
"""A server that answers no probe drains nothing, so it is not given the pod's grace, which is as long as sessions may
last."""


def probe_targets(owner: Owner, targets: Sequence[ProbeTarget]) -> list[Manifest]:
    """The ConfigMap of the isolation probe: the site's targets, the beacon's address and, once there is one, a
    neighbour's. Pods read it at their start, so new targets do not roll the pool.
    """
    text = PROBE_TARGETS.dump_json(tuple(targets)).decode()
    return [
        child(
            "v1",
            "ConfigMap",
            targets_name(owner.name),
            owner,
            labels=run_labels(owner, Role.SANDBOX),
            parent=owner.parent,
            body={"data": {"targets.json": text}},
        )
    ]


def sandbox_labels(owner: Owner, site: Site) -> dict[str, str]:
    """Labels of every sandbox pod, but for the one that its ReplicaSet adds."""
    return {**installation.labels(site, Role.SANDBOX), **run_labels(owner, Role.SANDBOX)}


def sandbox_deployment(owner: Owner, site: Site, replicas: int | None) -> list[Manifest]:
    """The Deployment. `replicas` None leaves its size alone (`sandbox.autoscaling: External`).

    The pods have no storage, no DNS and no credentials but a digest. They become ready only when the operator has
    set the gate `spade.dev/isolated`, after the probe.
    """
    wanted = owner.sandbox
    container = pods.Container(
        image=site.images.sandbox,
        command=("python", "-m", "spade_sandbox.pod"),
        ports={"sessions": ports.SANDBOX_SESSIONS, "status": ports.SANDBOX_STATUS},
        volumes=(*volumes.scratch("256Mi"), volumes.tokens(owner, Role.SANDBOX), volumes.probe_targets(owner)),
        environment={"SPADE_SANDBOX_CAPACITY": str(wanted.sessions_per_pod)},
        readiness=pods.http_probe("/healthz", ports.SANDBOX_STATUS, period=1, failures=5),
        # Programs may use all the CPU the pod has; a slow answer must not cost its live sessions.
        liveness=pods.http_probe(
            "/healthz", ports.SANDBOX_STATUS, period=10, failures=12, grace_seconds=HUNG_GRACE_SECONDS
        ),
        startup=pods.http_probe(
            "/healthz", ports.SANDBOX_STATUS, period=1, failures=120, grace_seconds=HUNG_GRACE_SECONDS
        ),
    )
    template = pods.pod_template(
        owner,
        Role.SANDBOX,
        site,
        container,
        wanted.pod,
        grace_seconds=site.sandbox_grace_seconds,
        more={
            "runtimeClassName": site.sandbox_runtime_class,
            "readinessGates": [{"conditionType": ISOLATED_GATE}],
            # No resolver at all: the policy is None, and Kubernetes then wants one address, which is the pod itself.
            "dnsPolicy": "None",
            "dnsConfig": {"nameservers": ["127.0.0.1"]},
        },
    )
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    asked = wanted.model_dump(mode="json", include={"pod", "sessions_per_pod"}, exclude_defaults=True)
    return [deployment(owner, Role.SANDBOX, template, replicas=replicas, strategy=strategy, asked=asked)]
