"""What design and play Jobs share: the worker's pod and the names of the servers it talks to."""

from spade_contracts import ports
from spade_contracts.labels import TASK_ANNOTATION, Role
from spade_contracts.tasks import DesignTask, PlayTask, VerifyTask
from spade_operator.children import pods, volumes
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import role_name, service_host
from spade_operator.children.owner import Owner, Parent
from spade_operator.children.site import Site
from spade_operator.children.storage import storage_environment, storage_secrets
from spade_operator.children.workloads import indexed_job


def engine_host(owner: Owner) -> str:
    """Name whose addresses are the engines that serve a proven policy."""
    return service_host(role_name(owner.name, Role.ENGINE), owner.namespace)


def sandbox_host(owner: Owner) -> str:
    """Name whose addresses are the sandbox pods with proven isolation."""
    return service_host(role_name(owner.name, Role.SANDBOX), owner.namespace)


def worker_job(
    owner: Owner,
    site: Site,
    name: str,
    task: DesignTask | PlayTask | VerifyTask,
    *,
    parent: Parent,
    labels: dict[str, str | int],
) -> Manifest:
    """An Indexed Job of workers. Re-running a finished task changes nothing, so a lost pod is simply replaced."""
    container = pods.Container(
        image=site.images.worker,
        command=("python", "-m", "spade_trainer.workers.main", task.kind),
        ports={"status": ports.WORKER_STATUS},
        volumes=(
            *volumes.scratch("1Gi"),
            volumes.storage(owner),
            volumes.task_file(),
            volumes.tokens(owner, Role.WORKER),
        ),
        environment=storage_environment(owner),
        secrets=storage_secrets(owner),
    )
    template = pods.pod_template(
        owner,
        Role.WORKER,
        site,
        container,
        owner.worker_pod,
        grace_seconds=30,
        labels=labels,
        annotations={TASK_ANNOTATION: task.model_dump_json(exclude_none=True)},
        more={"restartPolicy": "Never"},
    )
    return indexed_job(
        owner,
        Role.WORKER,
        name,
        template,
        parent=parent,
        pods=task.workers,
        backoff_limit=owner.worker_restarts,
        labels=labels,
    )
