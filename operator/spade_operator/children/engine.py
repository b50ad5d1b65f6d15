"""The engines: vLLM behind our front. A lost node must not hold a name, so they are a Deployment."""

from spade_contracts import ports
from spade_contracts.labels import TASK_ANNOTATION, Role
from spade_contracts.tasks import EngineTask
from spade_operator.children import pods, volumes
from spade_operator.children.manifests import Manifest
from spade_operator.children.owner import Run
from spade_operator.children.site import Site
from spade_operator.children.workloads import deployment


def engine_deployment(run: Run, site: Site, replicas: int) -> list[Manifest]:
    """The Deployment; 0 replicas while the run is suspended or has ended.

    Ready means serving a proven policy version, so an engine under update leaves the Service; liveness asks only
    whether the process answers, and never kills a paused engine.
    """
    wanted = run.spec.engine
    task = EngineTask(run=run.owner.ref, args=dict(wanted.args))
    container = pods.Container(
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
        readiness=pods.http_probe("/ready", ports.ENGINE_STATUS, period=1, failures=1),
        liveness=pods.http_probe("/healthz", ports.ENGINE_STATUS, period=10, failures=30),
        startup=pods.http_probe("/healthz", ports.ENGINE_STATUS, period=2, failures=900),
    )
    template = pods.pod_template(
        run.owner,
        Role.ENGINE,
        site,
        container,
        wanted.pod,
        grace_seconds=30,
        annotations={TASK_ANNOTATION: task.model_dump_json()},
    )
    asked = wanted.model_dump(mode="json", include={"pod", "args"}, exclude_defaults=True)
    strategy = {"type": "Recreate"}
    return [deployment(run.owner, Role.ENGINE, template, replicas=replicas, strategy=strategy, asked=asked)]
