"""What is known of the cluster around a run. Whatever could not be looked at is None, which is no sign of anything."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from spade_operator.containers import Raw

_SUFFIXES = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1), "k": Decimal(10**3),
    "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12), "P": Decimal(10**15), "E": Decimal(10**18),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}  # fmt: skip
_QUANTITY = re.compile(r"^([+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]|[KMGTPE]i)?$")
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
Amounts = Mapping[str, Decimal]
"""Resource name → amount, in cores, bytes or pieces."""


def quantity(text: object) -> Decimal:
    """The value of any quantity that Kubernetes writes; 0 for what is none."""
    match = _QUANTITY.match(str(text))
    return Decimal(match[1]) * _SUFFIXES[match[2] or ""] if match is not None else Decimal(0)


def quantities(raw: Raw | None) -> Amounts:
    """Amounts by name."""
    return {name: quantity(text) for name, text in (raw or {}).items()}


@dataclass(frozen=True)
class Taint:
    """What keeps pods that do not tolerate it from a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Node:
    """A node that takes pods."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    allocatable: Amounts = field(default_factory=dict)
    images: frozenset[str] = frozenset()
    """Names of images that its kubelet tells of: the largest ones, fifty by default."""


@dataclass(frozen=True)
class RuntimeClass:
    """A RuntimeClass, and where its pods go."""

    name: str
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Raw, ...] = ()


@dataclass(frozen=True)
class Quota:
    """A ResourceQuota."""

    name: str
    hard: Amounts
    used: Amounts
    applies: bool = True
    """Whether it holds for every pod of ours: some hold for a priority class or for other kinds of pods only."""


@dataclass(frozen=True)
class Claim:
    """A PersistentVolumeClaim."""

    phase: str
    access_modes: tuple[str, ...]


@dataclass(frozen=True)
class Surroundings:
    """One look at the cluster, for one namespace."""

    nodes: tuple[Node, ...] | None = None
    runtime_classes: Mapping[str, RuntimeClass] | None = None
    priority_classes: frozenset[str] | None = None
    storage_classes: Mapping[str, bool] | None = None
    """Name → whether it is the default."""
    quotas: tuple[Quota, ...] | None = None
    claims: Mapping[str, Claim] | None = None
    secrets: Mapping[str, frozenset[str] | None] | None = None
    """Secrets that were asked for → their keys; None of one that is not there."""
    config_maps: Mapping[str, frozenset[str] | None] | None = None
    """ConfigMaps likewise."""
    proven_by: str = ""
    """A run of the namespace whose sandboxes have proven gVisor and a closed network lately."""
    own_use: bool = False
    """The run exists already, so quotas hold its own use."""


@dataclass(frozen=True)
class Look:
    """One look of the operator's, for all runs that wait for it."""

    nodes: tuple[Node, ...] | None = None
    runtime_classes: Mapping[str, RuntimeClass] | None = None
    priority_classes: frozenset[str] | None = None
    storage_classes: Mapping[str, bool] | None = None
    quotas: Mapping[str, tuple[Quota, ...]] | None = None
    """By namespace."""
    claims: Mapping[str, Mapping[str, Claim] | None] = field(default_factory=dict)
    """By UID of the run that they were asked for."""

    def around(self, namespace: str, run_uid: str) -> Surroundings | None:
        """What of it concerns a run; None when it was not made for that run. Secrets are not for the operator."""
        if run_uid not in self.claims:
            return None
        return Surroundings(
            nodes=self.nodes,
            runtime_classes=self.runtime_classes,
            priority_classes=self.priority_classes,
            storage_classes=self.storage_classes,
            quotas=None if self.quotas is None else self.quotas.get(namespace, ()),
            claims=self.claims[run_uid],
        )


def node_of(raw: Raw) -> Node | None:
    """A node; None for one that takes no pods now."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    conditions = {c.get("type"): c.get("status") for c in status.get("conditions") or []}
    if spec.get("unschedulable") or conditions.get("Ready") != "True":
        return None
    return Node(
        raw["metadata"]["name"],
        raw["metadata"].get("labels") or {},
        tuple(Taint(t["key"], t.get("value", ""), t["effect"]) for t in spec.get("taints") or []),
        quantities(status.get("allocatable")),
        frozenset(name for image in status.get("images") or [] for name in image.get("names") or []),
    )


def nodes_of(items: Iterable[Raw]) -> tuple[Node, ...]:
    """The nodes of a list that take pods."""
    return tuple(node for item in items if (node := node_of(item)) is not None)


def runtime_classes_of(items: Iterable[Raw]) -> dict[str, RuntimeClass]:
    """The RuntimeClasses of a list, by name."""
    found = {}
    for item in items:
        name, scheduling = item["metadata"]["name"], item.get("scheduling") or {}
        found[name] = RuntimeClass(
            name, scheduling.get("nodeSelector") or {}, tuple(scheduling.get("tolerations") or ())
        )
    return found


def storage_classes_of(items: Iterable[Raw]) -> dict[str, bool]:
    """The StorageClasses of a list, and whether each is the default."""
    return {
        item["metadata"]["name"]: (item["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
        for item in items
    }


def quota_of(raw: Raw) -> Quota:
    """A ResourceQuota. All pods of a run have requests and no deadline."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    applies = not spec.get("scopeSelector") and set(spec.get("scopes") or ()) <= {"NotBestEffort", "NotTerminating"}
    hard = status.get("hard") or spec.get("hard")
    return Quota(raw["metadata"]["name"], quantities(hard), quantities(status.get("used")), applies)


def claim_of(raw: Raw) -> Claim:
    """A PersistentVolumeClaim."""
    modes = (raw.get("spec") or {}).get("accessModes") or ()
    return Claim((raw.get("status") or {}).get("phase", ""), tuple(modes))


def names_of(items: Iterable[Raw]) -> frozenset[str]:
    """Names of the objects of a list."""
    return frozenset(item["metadata"]["name"] for item in items)
