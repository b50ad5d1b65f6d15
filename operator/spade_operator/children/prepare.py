"""The preparation Job: checks storage, resolves the model, checks the corpus, writes run.json (design §6)."""

from collections.abc import Mapping

from spade_contracts.labels import TASK_ANNOTATION, Role
from spade_contracts.tasks import CleanupTask, PrepareTask
from spade_operator.children import pods, volumes
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import prepare_job_name
from spade_operator.children.origin import Origin
from spade_operator.children.owner import Run
from spade_operator.children.site import Site
from spade_operator.children.storage import storage_environment, storage_secrets
from spade_operator.children.workloads import indexed_job

BACKOFF_LIMIT = 2
ONLINE = {"HF_HUB_OFFLINE": "0"}
"""Nothing else of a run ever asks the hub: policy 0 is in run storage from then on."""


def prepare_job(run: Run, site: Site, attempt: int = 0, origin: Origin | None = None) -> list[Manifest]:
    """The Job. Raises InvalidInput when the spec does not resolve to settings."""
    task = PrepareTask(
        run=run.owner.ref,
        model_uri=run.spec.model.uri or "",
        revision=run.spec.model.revision,
        origin=origin.task(run.owner) if origin is not None else None,
        method=run.spec.method(),
    )
    of_others = origin.volumes(run.owner) if origin is not None else ()
    return [
        storage_job(
            run,
            site,
            task,
            prepare_job_name(run.name, attempt),
            scratch="4Gi",
            more_volumes=of_others,
            environment=ONLINE if run.spec.model.revision is not None else {},
            backoff_limit=BACKOFF_LIMIT,
            labels={"attempt": attempt},
        )
    ]


def storage_job(
    run: Run,
    site: Site,
    task: PrepareTask | CleanupTask,
    name: str,
    *,
    scratch: str,
    backoff_limit: int,
    labels: dict[str, str | int],
    more_volumes: tuple[volumes.Volume, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> Manifest:
    """A Job of one pod in the trainer image that works on run storage; it may reach what preparation may."""
    container = pods.Container(
        image=site.images.trainer,
        command=("python", "-m", "spade_trainer.workers.main", task.kind),
        ports={},
        environment={**(environment or {}), **storage_environment(run.owner)},
        secrets=storage_secrets(run.owner),
        volumes=(*volumes.scratch(scratch), volumes.storage(run.owner), *more_volumes, volumes.task_file()),
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
    return indexed_job(
        run.owner,
        Role.PREPARE,
        name,
        template,
        parent=run.owner.parent,
        pods=1,
        backoff_limit=backoff_limit,
        labels=labels,
    )
