"""A rollout's RolloutJob, and the Job that plays it."""

from spade_contracts.labels import GROUP, VERSION
from spade_contracts.resources import RolloutJobSpec
from spade_contracts.tasks import PlayTask
from spade_operator.children.manifests import Manifest, child, run_labels
from spade_operator.children.names import play_job_name, rollout_job_name
from spade_operator.children.owner import Parent, Run
from spade_operator.children.site import Site
from spade_operator.children.workers import engine_host, sandbox_host, worker_job


def rollout_job(run: Run, rollout: int, cycle: int, policy_version: int) -> list[Manifest]:
    """The RolloutJob of a rollout."""
    spec = RolloutJobSpec(
        run=run.name,
        rollout=rollout,
        cycle=cycle,
        policy_version=policy_version,
        workers=run.spec.workers.play,
        episodes=run.spec.workers.episodes,
    )
    return [
        child(
            f"{GROUP}/{VERSION}",
            "RolloutJob",
            rollout_job_name(run.name, rollout),
            run.owner,
            labels=run_labels(run.owner, rollout=rollout, cycle=cycle),
            parent=run.owner.parent,
            body={"spec": spec.model_dump(mode="json", exclude_none=True)},
        )
    ]


def play_job(run: Run, rollout_job: Parent, spec: RolloutJobSpec, site: Site, attempt: int) -> list[Manifest]:
    """The Job of one attempt at a RolloutJob, owned by it."""
    task = PlayTask(
        run=run.owner.ref,
        rollout=spec.rollout,
        cycle=spec.cycle,
        policy_version=spec.policy_version,
        attempt=attempt,
        workers=spec.workers,
        episodes=spec.episodes,
        engine_host=engine_host(run.owner),
        sandbox_host=sandbox_host(run.owner),
    )
    labels: dict[str, str | int] = {"rollout": spec.rollout, "cycle": spec.cycle, "attempt": attempt}
    return [
        worker_job(run.owner, site, play_job_name(rollout_job.name, attempt), task, parent=rollout_job, labels=labels)
    ]
