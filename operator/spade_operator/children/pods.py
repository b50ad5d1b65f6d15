"""The locked-down pod that every role starts from: restricted Pod Security, no credentials, read-only root."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spade_contracts.labels import Role
from spade_contracts.resources.pods import PodSettings, Resources, SandboxPodSettings
from spade_operator.children import installation
from spade_operator.children.manifests import Manifest, role_selector, run_labels
from spade_operator.children.owner import Owner
from spade_operator.children.placement import at_place, placement
from spade_operator.children.resources import laid_over, threads
from spade_operator.children.site import Site
from spade_operator.children.volumes import HOME, Volume, added

USER_ID = 65532
"""Unprivileged user of every image of ours; it has a passwd entry there."""
DEVICES = "devices"
"""Name, within a pod, of what its containers share."""
NO_RESOURCES = Resources()
NOTHING_ADDED = PodSettings()


@dataclass(frozen=True)
class Container:
    """What distinguishes one role's container from another's."""

    image: str
    command: tuple[str, ...]
    ports: Mapping[str, int]
    volumes: Sequence[Volume]
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Manifest] = field(default_factory=dict)
    """Variables from Secrets: name → secretKeyRef. They go before all others."""
    processes: int = 1
    """Processes that share the CPU budget."""
    readiness: Manifest | None = None
    liveness: Manifest | None = None
    startup: Manifest | None = None


@dataclass(frozen=True)
class Part:
    """A container of a pod with its role, and what the run says of that role."""

    role: Role
    container: Container
    settings: SandboxPodSettings


def http_probe(
    path: str, port: int, *, period: int, failures: int, timeout: int = 5, grace_seconds: int | None = None
) -> Manifest:
    """A probe of an open status port; it fails for good after `period` x `failures` seconds.

    `grace_seconds`: how long the container may take to stop then, where that is not the pod's own grace. The API
    server takes none of a readiness probe, which stops nothing.
    """
    grace = {} if grace_seconds is None else {"terminationGracePeriodSeconds": grace_seconds}
    return grace | {
        "httpGet": {"path": path, "port": port},
        "periodSeconds": period,
        "failureThreshold": failures,
        "timeoutSeconds": timeout,
    }


def effective_resources(site: Site, role: Role, settings: SandboxPodSettings) -> Resources:
    """The role's default with the run's settings over it."""
    return laid_over(site.resources.get(role, NO_RESOURCES), settings.resources)


def pod_template(
    owner: Owner,
    role: Role,
    site: Site,
    container: Container,
    settings: SandboxPodSettings,
    *,
    grace_seconds: int,
    labels: Mapping[str, str | int] | None = None,
    annotations: Mapping[str, str] | None = None,
    beside: Sequence[Part] = (),
    device_claim: str | None = None,
    more: Manifest | None = None,
) -> Manifest:
    """A pod template of the restricted Pod Security level, with `more` laid over its spec.

    Where run, installation and operator name the same thing, the operator wins, and then the installation. beside: more
    containers; place, labels and annotations are those of `settings`. device_claim: a ResourceClaimTemplate whose
    devices all containers share.
    """
    own = settings if isinstance(settings, PodSettings) else NOTHING_ADDED
    parts = (Part(role, container, settings), *beside)
    # The first container's word on a volume that several mount.
    mounted = {volume.name: volume for part in reversed(parts) for volume in _mounted(site, part)}
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
        "containers": [_container(site, part, shares_devices=device_claim is not None) for part in parts],
        "volumes": [{"name": volume.name, **volume.source} for volume in mounted.values()],
        **at_place(placement(settings, role_selector(owner, role)), owner.places.get(role)),
    }
    if device_claim is not None:
        spec["resourceClaims"] = [{"name": DEVICES, "resourceClaimTemplateName": device_claim}]
    if site.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in site.image_pull_secrets]
    metadata: Manifest = {
        "labels": {**own.labels, **installation.labels(site, role), **run_labels(owner, role, **(labels or {}))}
    }
    marks = {**own.annotations, **installation.annotations(site, role), **(annotations or {})}
    if marks:
        metadata["annotations"] = marks
    return {"metadata": metadata, "spec": spec | (more or {})}


def _variables(values: Mapping[str, str], own: PodSettings, role_secrets: Mapping[str, Manifest]) -> list[Manifest]:
    """The container's environment by name, so that the same settings make the same bytes."""
    secrets = {
        name: {"valueFrom": {"secretKeyRef": {"name": wanted.secret, "key": wanted.key}}}
        for name, wanted in own.secret_environment.items()
    }
    whole: dict[str, Manifest] = {**secrets, **{name: {"value": value} for name, value in values.items()}}
    whole |= {name: {"valueFrom": {"secretKeyRef": wanted}} for name, wanted in role_secrets.items()}
    return [{"name": name, **whole[name]} for name in sorted(whole)]


def _own(part: Part) -> PodSettings:
    """What a run adds to a container of a trusted role."""
    return part.settings if isinstance(part.settings, PodSettings) else NOTHING_ADDED


def _mounted(site: Site, part: Part) -> tuple[Volume, ...]:
    return (*part.container.volumes, *installation.volumes(site, part.role), *added(_own(part).volumes))


def _container(site: Site, part: Part, *, shares_devices: bool) -> Manifest:
    role, container, own = part.role, part.container, _own(part)
    resources = effective_resources(site, role, part.settings)
    # What a run writes is meant as it stands: Kubernetes would put other variables, secret ones too, for $(NAME).
    variables = {name: value.replace("$", "$$") for name, value in own.environment.items()}
    variables |= installation.environment(site, role)
    variables |= _environment(threads(resources, container.processes)) | dict(container.environment)
    claims = {"claims": [{"name": DEVICES}]} if shares_devices else {}
    result: Manifest = {
        "name": str(role),
        "image": container.image,
        "imagePullPolicy": str(site.image_pull_policy),
        "command": list(container.command),
        "env": _variables(variables, own, container.secrets),
        "ports": [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in container.ports.items()],
        "resources": resources.model_dump() | claims,
        "volumeMounts": [
            {"name": volume.name, "mountPath": volume.path, "readOnly": volume.read_only}
            for volume in _mounted(site, part)
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
