"""A cycle's EnvBatch, and the Job that designs and verifies its environments."""

from spade_contracts.labels import GROUP, VERSION
from spade_contracts.resources import EnvBatchSpec
from spade_contracts.tasks import DesignTask
from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import design_job_name, env_batch_name
from spade_operator.children.owner import Parent, Run
from spade_operator.children.site import Site
from spade_operator.children.workers import engine_host, sandbox_host, worker_job


def env_batch(run: Run, cycle: int, policy_version: int, topup: int | None = None) -> list[Manifest]:
    """The EnvBatch of a cycle, or the one that tops it up for a rollout."""
    spec = EnvBatchSpec(
        run=run.name, cycle=cycle, rollout=topup, policy_version=policy_version, workers=run.spec.workers.design
    )
    return [
        child(
            f"{GROUP}/{VERSION}",
            "EnvBatch",
            env_batch_name(run.name, cycle, topup),
            run.owner,
            labels=run_labels(run.owner, None, **_labels(spec)),
            parent=run.owner.parent,
            body={"spec": spec.model_dump(mode="json", exclude_none=True)},
        )
    ]


def design_job(run: Run, batch: Parent, spec: EnvBatchSpec, site: Site, attempt: int) -> list[Manifest]:
    """The Job of one attempt at an EnvBatch of a run, owned by it."""
    assert spec.cycle is not None, "the API server refuses a run's without it"
    assert spec.policy_version is not None, "the API server refuses a run's without it"
    task = DesignTask(
        run=run.owner.ref,
        cycle=spec.cycle,
        rollout=spec.rollout,
        policy_version=spec.policy_version,
        attempt=attempt,
        workers=spec.workers,
        engine_host=engine_host(run.owner),
        sandbox_host=sandbox_host(run.owner),
    )
    name = design_job_name(batch.name, attempt)
    return [
        worker_job(run.owner, site, name, task, parent=batch, labels={**_labels(spec), "attempt": attempt}),
    ]


def _labels(spec: EnvBatchSpec) -> dict[str, str | int]:
    """Whose work it is; a top-up's rollout has a label of its own, because that of a rollout's plays means those."""
    return {key: value for key, value in (("cycle", spec.cycle), ("topup", spec.rollout)) if value is not None}
