"""The installation's side of every pod: images, runtime class, network, defaults. Never chosen by a run (design §11).

The chart mounts it as a JSON file beside the installation key; `load_site` reads both once, at start.
"""

from collections.abc import Mapping
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from spade_contracts.base import Document
from spade_contracts.errors import InvalidInput
from spade_contracts.isolation import ProbeTarget, TargetKind, TransportProtocol
from spade_contracts.labels import Role
from spade_contracts.resources.pods import Resources
from spade_contracts.resources.run_parts import Images
from spade_contracts.resources.scalars import LabelKey, LabelValue, ResourceName
from spade_contracts.wrong_input import wrong_input

RESOLV_CONF = Path("/etc/resolv.conf")
NODE_ADDRESS_VARIABLE = "SPADE_NODE_ADDRESS"
MIN_KEY_BYTES = 32


class PullPolicy(StrEnum):
    """When nodes fetch images."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class Dns(Document):
    """Where pods ask for names: selector of the DNS pods, and addresses for caches that are no pods."""

    namespace: str = "kube-system"
    """Namespace of the DNS pods."""
    pod_labels: dict[str, str] = {"k8s-app": "kube-dns"}
    """Their labels."""
    cidrs: tuple[str, ...] = ()
    """More addresses that answer port 53, such as a node-local cache."""


class EgressPods(Document):
    """Pods that a run's trusted pods may reach, such as an object store in the cluster."""

    namespace: str = Field(min_length=1)
    """Their namespace."""
    pod_labels: dict[LabelKey, LabelValue] = Field(min_length=1)
    """Their labels."""
    ports: tuple[Annotated[int, Field(ge=1, le=65535)], ...] = Field(min_length=1)
    """Ports of theirs."""


class Proxy(Document):
    """The way out for HTTP clients in a run's pods."""

    http: str = ""
    """URL for http addresses; empty: none."""
    https: str = ""
    """URL for https addresses; empty: none."""
    no_proxy: tuple[str, ...] = ()
    """Names and addresses reached without it, besides the cluster's own names."""


class CaBundle(Document):
    """Certificates that a run's pods trust in place of their image's."""

    config_map: str = ""
    """ConfigMap in the run's namespace; empty: none."""
    key: str = "ca.crt"
    """Its key with PEM certificates."""


class MeshOptOut(StrEnum):
    """Pods that tell Istio and Linkerd to leave them alone."""

    SANDBOXES = "Sandboxes"
    """Sandbox pods, and the beacon that their silence is compared with."""
    ALL = "All"
    """Every pod of a run."""
    NONE = "None"
    """No pod."""


class Mesh(Document):
    """What service meshes may do with a run's pods."""

    opt_out: MeshOptOut = MeshOptOut.SANDBOXES
    """Pods without a sidecar."""


class Rdma(Document):
    """What learners may have for RDMA beside what every pod of a run has. Nothing by default."""

    resources: tuple[ResourceName, ...] = ()
    """Extended resources that are RDMA devices, such as `rdma/hca`; empty: no learner may have any."""
    host_network_cidrs: tuple[str, ...] = ()
    """Addresses of the nodes whose network a learner may use as its own; empty: no learner may."""


class PodMarks(Document):
    """Labels and annotations that the installation puts on every pod of a run; the operator's own win."""

    labels: dict[LabelKey, LabelValue] = {}
    """Labels."""
    annotations: dict[LabelKey, str] = {}
    """Annotations."""


class TargetSetting(Document):
    """A target of the isolation probe; an empty host is filled in from where the operator runs."""

    kind: TargetKind
    """What it stands for."""
    host: str = ""
    """Address. Empty for `api-server`, `dns` and `node`: discovered."""
    port: int = Field(ge=1, le=65535)
    """Port."""
    protocol: TransportProtocol = TransportProtocol.TCP
    """How it is tried."""


class Site(Document):
    """Everything that the installation decides about a run's pods."""

    images: Images
    """Image references."""
    image_pull_policy: PullPolicy = PullPolicy.IF_NOT_PRESENT
    """When nodes fetch them."""
    image_pull_secrets: tuple[str, ...] = ()
    """Secrets in the run's namespace that open the registry."""
    sandbox_runtime_class: str = Field(min_length=1)
    """RuntimeClass of sandbox pods."""
    sandbox_grace_seconds: int = Field(default=3600, ge=1)
    """How long a draining sandbox pod may serve on its open sessions."""
    sandbox_pods_per_namespace: int = Field(default=0, ge=0)
    """Sandbox pods that all pools of a namespace may hold together, draining ones included; 0: no limit."""
    operator_namespace: str = Field(min_length=1)
    """Where the operator runs."""
    operator_labels: dict[str, str] = Field(min_length=1)
    """Labels of its pods."""
    watch_namespace: str = ""
    """The only namespace served; empty: all."""
    manage_network_policies: bool = True
    """Whether runs get NetworkPolicies from us. If not, others must close the sandboxes, and the probe checks it."""
    monitoring_namespace: str = ""
    """Namespace that may scrape metrics ports; empty: none."""
    look_at_cluster: bool = False
    """Whether the operator may list nodes, RuntimeClasses, PriorityClasses and StorageClasses."""
    kueue: bool = False
    """Whether runs may name queues of Kueue, and the operator may keep Workloads."""
    dns: Dns = Dns()
    """Where pods ask for names."""
    egress_cidrs: tuple[str, ...] = ()
    """Addresses that workers, learner, engines and preparation may reach besides DNS."""
    egress_pods: tuple[EgressPods, ...] = ()
    """Pods that they may reach."""
    run_pods: PodMarks = PodMarks()
    """Labels and annotations of a run's pods."""
    proxy: Proxy = Proxy()
    """The way out for workers, learner, engines and preparation."""
    ca_bundle: CaBundle = CaBundle()
    """What these trust."""
    mesh: Mesh = Mesh()
    """Which pods keep sidecars out."""
    rdma: Rdma = Rdma()
    """What learners may have for RDMA."""
    resources: dict[Role, Resources]
    """Default requests and limits; a run's own win, name by name."""
    targets: tuple[TargetSetting, ...]
    """Targets of the isolation probe."""
    installation_key_file: Path
    """Where the key is mounted."""
    probe_targets: tuple[ProbeTarget, ...] = Field(default=(), exclude=True)
    """`targets` with every host filled in. Beacon and neighbour are added for each run."""
    installation_key: bytes = Field(default=b"", exclude=True, repr=False)
    """Root of all tokens."""


def load_site(path: Path, environment: Mapping[str, str], resolv_conf: Path = RESOLV_CONF) -> Site:
    """The site of a mounted JSON file, with the key read and the probe's targets filled in.

    Raises InvalidInput naming the field and what to write.
    """
    try:
        site = Site.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read: {error.strerror}", remedy="Mount the site file.") from error
    except ValidationError as error:
        remedy = "Correct the chart's values."
        raise wrong_input(error, Site, lambda place: f"{path}: {'.'.join(map(str, place))}", remedy=remedy) from error
    return site.model_copy(
        update={
            "installation_key": _read_key(site.installation_key_file),
            "probe_targets": tuple(_filled_in(setting, environment, resolv_conf) for setting in site.targets),
        }
    )


def _read_key(path: Path) -> bytes:
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise InvalidInput(
            str(path), f"cannot be read: {error.strerror}", remedy="Mount the installation key's Secret."
        ) from error
    if len(key) < MIN_KEY_BYTES:
        raise InvalidInput(str(path), f"holds {len(key)} bytes", remedy=f"Use at least {MIN_KEY_BYTES} random bytes.")
    return key


def _filled_in(setting: TargetSetting, environment: Mapping[str, str], resolv_conf: Path) -> ProbeTarget:
    host, port = setting.host, setting.port
    if not host and setting.kind is TargetKind.API_SERVER:
        host = environment.get("KUBERNETES_SERVICE_HOST", "")
        port = int(environment.get("KUBERNETES_SERVICE_PORT", setting.port))
    elif not host and setting.kind is TargetKind.NODE:
        host = environment.get(NODE_ADDRESS_VARIABLE, "")
    elif not host and setting.kind is TargetKind.DNS:
        host = _first_nameserver(resolv_conf)
    where = f"targets[{setting.kind}].host"
    if not host:
        raise InvalidInput(where, "is empty and cannot be discovered here", remedy="Write an address.")
    try:
        address = ip_address(host)
    except ValueError:
        raise InvalidInput(where, f"must be an address, not {host!r}", remedy="Names do not resolve there.") from None
    name = f"{setting.kind}-{address}-{port}-{setting.protocol}"
    return ProbeTarget(name=name, kind=setting.kind, host=address, port=port, protocol=setting.protocol)


def _first_nameserver(resolv_conf: Path) -> str:
    try:
        lines = resolv_conf.read_text().splitlines()
    except OSError:
        return ""
    return next((words[1] for words in map(str.split, lines) if words[:1] == ["nameserver"] and len(words) > 1), "")
