"""The Job that deletes a deleted run's folder in run storage (`storage.onDelete: Delete`)."""

from spade_contracts.tasks import CleanupTask
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import cleanup_job_name
from spade_operator.children.owner import Run
from spade_operator.children.prepare import storage_job
from spade_operator.children.site import Site

BACKOFF_LIMIT = 3
DEADLINE_SECONDS = 3600
"""Of all tries together, and of waiting for a node or the volume."""


def cleanup_job(run: Run, site: Site) -> list[Manifest]:
    """The Job. Its pod has preparation's role, so what that may reach, it may."""
    task, name = CleanupTask(run=run.owner.ref), cleanup_job_name(run.name)
    job = storage_job(run, site, task, name, scratch="64Mi", backoff_limit=BACKOFF_LIMIT, labels={})
    return [job | {"spec": job["spec"] | {"activeDeadlineSeconds": DEADLINE_SECONDS}}]
