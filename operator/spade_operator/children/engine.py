"""The engines: vLLM behind our front. A lost node must not hold a name, so they are a Deployment.

With placement Colocated an engine is a container of a learner's pod instead, with tokens and scratch of its own.
"""

from dataclasses import replace

from spade_contracts import ports
from spade_contracts.labels import ENGINE_TASK_ANNOTATION, TASK_ANNOTATION, Role
from spade_contracts.resources.run_parts import Placement
from spade_contracts.tasks import EngineTask
from spade_operator.children import pods, volumes
from spade_operator.children.manifests import Manifest
from spade_operator.children.owner import Run
from spade_operator.children.site import Site
from spade_operator.children.storage import storage_environment, storage_secrets
from spade_operator.children.workloads import deployment

BESIDE = "engine-"
"""Begins the names, within a learner's pod, of what is the engine's."""


def engine_deployment(run: Run, site: Site, replicas: int) -> list[Manifest]:
    """The Deployment; 0 replicas while the run is suspended or has ended."""
    template = pods.pod_template(
        run.owner,
        Role.ENGINE,
        site,
        _container(run, site),
        run.spec.engine.pod,
        grace_seconds=30,
        annotations={TASK_ANNOTATION: engine_task(run)},
    )
    asked = run.spec.engine.model_dump(mode="json", include={"pod", "args"}, exclude_defaults=True)
    strategy = {"type": "Recreate"}
    return [deployment(run.owner, Role.ENGINE, template, replicas=replicas, strategy=strategy, asked=asked)]


def engine_beside(run: Run, site: Site) -> pods.Part:
    """The engine in a learner's pod. Its task is the pod's annotation ENGINE_TASK_ANNOTATION."""
    container = _container(run, site)
    mounts = (
        *volumes.scratch("8Gi", of=BESIDE),
        volumes.shared_memory("512Mi"),
        volumes.storage(run.owner, read_only=True, of=BESIDE),
        volumes.task_file(ENGINE_TASK_ANNOTATION, of=BESIDE),
        volumes.tokens(run.owner, Role.ENGINE, of=BESIDE),
    )
    named = {f"{BESIDE}{name}": port for name, port in container.ports.items()}
    return pods.Part(Role.ENGINE, replace(container, volumes=mounts, ports=named), run.spec.engine.pod)


def engine_task(run: Run) -> str:
    """What an engine is started with."""
    colocated = run.spec.placement is Placement.COLOCATED
    return EngineTask(run=run.owner.ref, args=dict(run.spec.engine.args), colocated=colocated).model_dump_json()


def _container(run: Run, site: Site) -> pods.Container:
    """Ready means serving a proven policy version, so an engine under update or asleep leaves the Service; liveness
    asks only whether the process answers, and never kills a paused engine.
    """
    return pods.Container(
        image=site.images.trainer,
        command=("python", "-m", "spade_trainer.engine.main"),
        ports={"data": ports.ENGINE_DATA, "control": ports.ENGINE_CONTROL, "status": ports.ENGINE_STATUS},
        volumes=(
            *volumes.scratch("8Gi"),
            volumes.shared_memory("512Mi"),
            volumes.storage(run.owner, read_only=True),
            volumes.task_file(),
            volumes.tokens(run.owner, Role.ENGINE),
        ),
        environment=storage_environment(run.owner),
        secrets=storage_secrets(run.owner),
        readiness=pods.http_probe("/ready", ports.ENGINE_STATUS, period=1, failures=1),
        liveness=pods.http_probe("/healthz", ports.ENGINE_STATUS, period=10, failures=30),
        startup=pods.http_probe("/healthz", ports.ENGINE_STATUS, period=2, failures=900),
    )
