"""The beacon: a small trusted pod that listens as an engine would and tries the probe's targets from outside gVisor."""

from spade_contracts import ports
from spade_contracts.labels import Role
from spade_operator.children import pods, volumes
from spade_operator.children.manifests import Manifest
from spade_operator.children.owner import Owner
from spade_operator.children.site import Site
from spade_operator.children.workloads import deployment


def beacon_deployment(owner: Owner, site: Site, replicas: int = 1) -> list[Manifest]:
    """The Deployment; 0 replicas while the run is suspended or has ended."""
    container = pods.Container(
        image=site.images.worker,
        command=("python", "-m", "spade_trainer.workers.main", "beacon"),
        ports={"data": ports.ENGINE_DATA, "status": ports.WORKER_STATUS},
        volumes=(*volumes.scratch("64Mi"), volumes.probe_targets(owner)),
        readiness=pods.http_probe("/healthz", ports.WORKER_STATUS, period=1, failures=5),
        liveness=pods.http_probe("/healthz", ports.WORKER_STATUS, period=10, failures=6),
        startup=pods.http_probe("/healthz", ports.WORKER_STATUS, period=1, failures=120),
    )
    settings = owner.worker_pod.placement()
    template = pods.pod_template(owner, Role.BEACON, site, container, settings, grace_seconds=5)
    asked, strategy = settings.model_dump(mode="json", exclude_defaults=True), {"type": "Recreate"}
    return [deployment(owner, Role.BEACON, template, replicas=replicas, strategy=strategy, asked=asked)]
