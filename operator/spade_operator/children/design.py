"""A cycle's EnvBatch, and the Job that designs and verifies its environments."""

from spade_contracts.labels import GROUP, VERSION
from spade_contracts.resources import EnvBatchSpec
from spade_contracts.tasks import DesignTask
from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import design_job_name, env_batch_name
from spade_operator.children.run import Parent, Run
from spade_operator.children.site import Site
from spade_operator.children.workers import engine_host, sandbox_host, worker_job


def env_batch(run: Run, cycle: int, policy_version: int) -> list[Manifest]:
    """The EnvBatch of a cycle."""
    spec = EnvBatchSpec(run=run.name, cycle=cycle, policy_version=policy_version, workers=run.spec.workers.design)
    return [
        child(
            f"{GROUP}/{VERSION}",
            "EnvBatch",
            env_batch_name(run.name, cycle),
            run,
            labels=run_labels(run, cycle=cycle),
            parent=run.parent,
            body={"spec": spec.model_dump(mode="json", exclude_none=True)},
        )
    ]


def design_job(run: Run, batch: Parent, spec: EnvBatchSpec, site: Site, attempt: int) -> list[Manifest]:
    """The Job of one attempt at an EnvBatch, owned by it."""
    task = DesignTask(
        run=run.ref,
        cycle=spec.cycle,
        policy_version=spec.policy_version,
        attempt=attempt,
        workers=spec.workers,
        engine_host=engine_host(run),
        sandbox_host=sandbox_host(run),
    )
    name = design_job_name(batch.name, attempt)
    return [
        worker_job(run, site, name, task, parent=batch, labels={"cycle": spec.cycle, "attempt": attempt}),
    ]
