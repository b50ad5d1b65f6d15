"""The learner: one Indexed Job whose pods meet for torchrun and are replaced together, under a new attempt's name."""

from spade_contracts import ports
from spade_contracts.labels import ENGINE_TASK_ANNOTATION, TASK_ANNOTATION, Role
from spade_contracts.resources.run_parts import Fabric, Placement
from spade_contracts.tasks import LearnerTask
from spade_operator.children import pods, volumes
from spade_operator.children.engine import engine_beside, engine_task
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import learner_job_name, role_name
from spade_operator.children.owner import Run
from spade_operator.children.site import Site
from spade_operator.children.storage import storage_environment, storage_secrets
from spade_operator.children.workloads import indexed_job


def learner_job(run: Run, site: Site, attempt: int) -> list[Manifest]:
    """The Job of one attempt. Any lost pod fails it: ranks cannot go on without each other."""
    wanted, colocated = run.spec.learner, run.spec.placement is Placement.COLOCATED
    name = learner_job_name(run.name, attempt)
    service = role_name(run.name, Role.LEARNER)
    task = LearnerTask(
        run=run.owner.ref,
        attempt=attempt,
        nodes=wanted.nodes,
        ranks_per_node=wanted.ranks_per_node,
        rdma=wanted.fabric is not Fabric.POD_NETWORK,
        colocated=colocated,
        keep_policies=run.spec.retention.policies,
        keep_checkpoints=run.spec.retention.checkpoints,
        keep_episodes=run.spec.retention.episodes,
    )
    # A lone pod needs no name of its own, and no DNS to find itself.
    master = "127.0.0.1" if wanted.nodes == 1 else f"{name}-0.{service}"
    container = pods.Container(
        image=site.images.trainer,
        command=("python", "-m", "spade_trainer.learner.main"),
        ports={
            "control": ports.LEARNER_CONTROL,
            "status": ports.LEARNER_STATUS,
            "rendezvous": ports.LEARNER_RENDEZVOUS,
        },
        volumes=(
            *volumes.scratch("8Gi"),
            volumes.shared_memory("512Mi"),
            volumes.storage(run.owner),
            volumes.task_file(),
            volumes.tokens(run.owner, Role.LEARNER),
        ),
        environment={"MASTER_ADDR": master, "MASTER_PORT": str(ports.LEARNER_RENDEZVOUS)}
        | storage_environment(run.owner),
        secrets=storage_secrets(run.owner),
        processes=wanted.ranks_per_node,
    )
    template = pods.pod_template(
        run.owner,
        Role.LEARNER,
        site,
        container,
        wanted.pod,
        grace_seconds=30,
        labels={"attempt": attempt},
        annotations={TASK_ANNOTATION: task.model_dump_json()}
        | ({ENGINE_TASK_ANNOTATION: engine_task(run)} if colocated else {}),
        beside=(engine_beside(run, site),) if colocated else (),
        device_claim=wanted.device_claim_template,
        more={"restartPolicy": "Never", "subdomain": service, **_network(wanted.fabric)},
    )
    return [
        indexed_job(
            run.owner,
            Role.LEARNER,
            name,
            template,
            parent=run.owner.parent,
            pods=wanted.nodes,
            backoff_limit=0,
            labels={"attempt": attempt},
        )
    ]


def _network(fabric: Fabric) -> Manifest:
    """The node's own network, if that is the fabric. Without the policy a pod there could not find its peers' names."""
    if fabric is not Fabric.HOST_RDMA:
        return {}
    return {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
