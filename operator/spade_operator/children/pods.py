"""The locked-down pod that every role starts from: restricted Pod Security, no credentials, read-only root."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spade_contracts import isolation, tasks
from spade_contracts.labels import TASK_ANNOTATION, Role
from spade_contracts.resources.pods import PodSettings, Resources
from spade_operator.children.manifests import Manifest, run_labels
from spade_operator.children.names import targets_name, tokens_name
from spade_operator.children.owner import STORAGE_MOUNT, Owner
from spade_operator.children.resources import laid_over, threads
from spade_operator.children.site import Site

USER_ID = 65532
"""Unprivileged user of every image of ours; it has a passwd entry there."""
HOME = "/home/spade"
NO_RESOURCES = Resources()


@dataclass(frozen=True)
class Volume:
    """A volume and where the one container mounts it."""

    name: str
    source: Manifest
    path: str
    read_only: bool = False


@dataclass(frozen=True)
class Container:
    """What distinguishes one role's container from another's."""

    image: str
    command: tuple[str, ...]
    ports: Mapping[str, int]
    volumes: Sequence[Volume]
    environment: Mapping[str, str] = field(default_factory=dict)
    processes: int = 1
    """Processes that share the CPU budget."""
    readiness: Manifest | None = None
    liveness: Manifest | None = None
    startup: Manifest | None = None


def scratch(size: str) -> tuple[Volume, Volume]:
    """Writable HOME and TMPDIR under the read-only root."""
    return (
        Volume("home", {"emptyDir": {"sizeLimit": size}}, HOME),
        Volume("tmp", {"emptyDir": {"sizeLimit": size}}, "/tmp"),  # noqa: S108  # a volume of the pod's own
    )


def shared_memory(size: str) -> Volume:
    """Shared memory of a size; the runtime's 64 MiB are too small for torch. Counts towards the memory limit."""
    return Volume("shm", {"emptyDir": {"medium": "Memory", "sizeLimit": size}}, "/dev/shm")  # noqa: S108


def storage(owner: Owner, *, read_only: bool = False) -> Volume:
    """Run storage."""
    claim = {"claimName": owner.claim, "readOnly": read_only}
    return Volume("storage", {"persistentVolumeClaim": claim}, STORAGE_MOUNT, read_only)


def task_file() -> Volume:
    """The pod's own task annotation as a file: no ConfigMap for each Job."""
    item = {"path": "task.json", "fieldRef": {"fieldPath": f"metadata.annotations['{TASK_ANNOTATION}']"}}
    return Volume("task", {"downwardAPI": {"items": [item]}}, tasks.TASK_PATH.rpartition("/")[0], read_only=True)


def tokens(owner: Owner, role: Role) -> Volume:
    """The role's tokens and digests."""
    secret = {"secretName": tokens_name(owner.name, role), "defaultMode": 0o440}
    return Volume("tokens", {"secret": secret}, tasks.TOKENS_PATH, read_only=True)


def probe_targets(owner: Owner) -> Volume:
    """Targets of the isolation probe. A pod that starts later sees later targets."""
    source = {"configMap": {"name": targets_name(owner.name), "defaultMode": 0o444}}
    return Volume("probe", source, isolation.TARGETS_PATH.rpartition("/")[0], read_only=True)


def http_probe(path: str, port: int, *, period: int, failures: int, timeout: int = 5) -> Manifest:
    """A probe of an open status port; it fails for good after `period` x `failures` seconds."""
    return {
        "httpGet": {"path": path, "port": port},
        "periodSeconds": period,
        "failureThreshold": failures,
        "timeoutSeconds": timeout,
    }


def effective_resources(site: Site, role: Role, settings: PodSettings) -> Resources:
    """The role's default with the run's settings over it."""
    return laid_over(site.resources.get(role, NO_RESOURCES), settings.resources)


def pod_template(
    owner: Owner,
    role: Role,
    site: Site,
    container: Container,
    settings: PodSettings,
    *,
    grace_seconds: int,
    labels: Mapping[str, str | int] | None = None,
    annotations: Mapping[str, str] | None = None,
    more: Manifest | None = None,
) -> Manifest:
    """A pod template of the restricted Pod Security level, with `more` laid over its spec."""
    resources = effective_resources(site, role, settings)
    spec: Manifest = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": grace_seconds,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "fsGroup": USER_ID,
            # Without it the kubelet walks all of run storage at every pod start.
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(role, site, container, resources)],
        "volumes": [{"name": volume.name, **volume.source} for volume in container.volumes],
    }
    if settings.node_selector:
        spec["nodeSelector"] = dict(settings.node_selector)
    if site.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in site.image_pull_secrets]
    metadata: Manifest = {"labels": run_labels(owner, role, **(labels or {}))}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"metadata": metadata, "spec": spec | (more or {})}


def _container(role: Role, site: Site, container: Container, resources: Resources) -> Manifest:
    environment = _environment(threads(resources, container.processes)) | dict(container.environment)
    result: Manifest = {
        "name": str(role),
        "image": container.image,
        "imagePullPolicy": str(site.image_pull_policy),
        "command": list(container.command),
        "env": [{"name": name, "value": value} for name, value in sorted(environment.items())],
        "ports": [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in container.ports.items()],
        "resources": resources.model_dump(),
        "volumeMounts": [
            {"name": volume.name, "mountPath": volume.path, "readOnly": volume.read_only}
            for volume in container.volumes
        ],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "terminationMessagePolicy": "File",
    }
    probes = {
        "readinessProbe": container.readiness,
        "livenessProbe": container.liveness,
        "startupProbe": container.startup,
    }
    return result | {name: probe for name, probe in probes.items() if probe is not None}


def _environment(thread_count: int) -> dict[str, str]:
    """Writable places for everything that insists on one, and thread counts that fit the CPU budget."""
    count = str(thread_count)
    cache = f"{HOME}/.cache"
    return {
        "HOME": HOME,
        "TMPDIR": "/tmp",  # noqa: S108
        "XDG_CACHE_HOME": cache,
        "XDG_CONFIG_HOME": f"{HOME}/.config",
        "VLLM_CACHE_ROOT": f"{cache}/vllm",
        "VLLM_CONFIG_ROOT": f"{HOME}/.config/vllm",
        "VLLM_NO_USAGE_STATS": "1",
        "TRITON_CACHE_DIR": f"{cache}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor",
        "NUMBA_CACHE_DIR": f"{cache}/numba",
        "HF_HOME": f"{cache}/huggingface",
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "RAYON_NUM_THREADS": count,
    }
