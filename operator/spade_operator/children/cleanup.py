"""The Job that deletes a deleted run's folder in run storage (`storage.onDelete: Delete`)."""

from spade_contracts.labels import TASK_ANNOTATION, Role
from spade_contracts.tasks import CleanupTask
from spade_operator.children import pods, volumes
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import cleanup_job_name
from spade_operator.children.owner import Run
from spade_operator.children.site import Site
from spade_operator.children.workloads import indexed_job

BACKOFF_LIMIT = 3
DEADLINE_SECONDS = 3600
"""Of all tries together, and of waiting for a node or the volume."""


def cleanup_job(run: Run, site: Site) -> list[Manifest]:
    """The Job. Its pod has preparation's role, so what that may reach, it may."""
    task = CleanupTask(run=run.owner.ref)
    container = pods.Container(
        image=site.images.trainer,
        command=("python", "-m", "spade_trainer.workers.main", "cleanup"),
        ports={},
        volumes=(*volumes.scratch("64Mi"), volumes.storage(run.owner), volumes.task_file()),
    )
    template = pods.pod_template(
        run.owner,
        Role.PREPARE,
        site,
        container,
        run.spec.workers.pod,
        grace_seconds=10,
        annotations={TASK_ANNOTATION: task.model_dump_json()},
        more={"restartPolicy": "Never"},
    )
    job = indexed_job(
        run.owner,
        Role.PREPARE,
        cleanup_job_name(run.name),
        template,
        parent=run.owner.parent,
        pods=1,
        backoff_limit=BACKOFF_LIMIT,
        labels={},
    )
    return [job | {"spec": job["spec"] | {"activeDeadlineSeconds": DEADLINE_SECONDS}}]
