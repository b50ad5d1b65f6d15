"""What Kueue says of a run's Workload, and what that refers to: small frozen records of its API, v1beta2."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from spade_contracts.labels import Role
from spade_operator.containers import Raw

MAX_WORDS = 500
READY = "Ready"
"""State of an admission check that lets its updates count."""


@dataclass(frozen=True)
class Place:
    """What the pods of one role get so that they land on the nodes whose quota they use."""

    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str | int], ...] = ()


@dataclass(frozen=True)
class Standing:
    """Where a Workload stands."""

    reserved: bool = False
    """Quota is kept for it."""
    admitted: bool = False
    """It may run: quota is kept, and every admission check agrees."""
    evicted: str = ""
    """Why Kueue wants the quota back; empty: it does not."""
    finished: bool = False
    pods_ready: bool = False
    words: str = ""
    """Kueue's words on why it does not run."""
    flavors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Pod set → ResourceFlavors that it was given, by name."""
    updates: tuple[tuple[str, Place], ...] = ()
    """What admission checks want of pod sets."""

    @property
    def runs(self) -> bool:
        """Whether its pods may be there."""
        return self.admitted and not self.evicted and not self.finished


@dataclass(frozen=True)
class Queueing:
    """Objects of the cluster that Workloads refer to, as they were read last."""

    served: bool | None = None
    """Whether the API server has Workloads; None: nobody has looked yet."""
    flavors: Mapping[str, Place] = field(default_factory=dict)
    """By name."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Values of PriorityClasses, by name."""


NOTHING_READ = Queueing()


def standing_of(workload: Raw) -> Standing:
    """The standing of a Workload."""
    status: Raw = workload.get("status") or {}
    conditions: dict[str, Raw] = {c.get("type", ""): c for c in status.get("conditions") or []}
    holds = {kind for kind, condition in conditions.items() if condition.get("status") == "True"}
    evicted = conditions.get("Evicted", {})
    assignments = (status.get("admission") or {}).get("podSetAssignments") or []
    updates = [
        (update.get("name", ""), Place(update.get("nodeSelector") or {}, tuple(update.get("tolerations") or ())))
        for check in status.get("admissionChecks") or []
        if check.get("state") == READY
        for update in check.get("podSetUpdates") or []
    ]
    words = [conditions.get(kind, {}).get("message", "") for kind in ("Evicted", "QuotaReserved", "Admitted")]
    said = words[0] if "Evicted" in holds and "QuotaReserved" in holds else next(filter(None, words[1:]), "")
    return Standing(
        reserved="QuotaReserved" in holds,
        admitted="Admitted" in holds,
        evicted=(evicted.get("reason") or "Evicted") if "Evicted" in holds else "",
        finished="Finished" in holds,
        pods_ready="PodsReady" in holds,
        words=said[:MAX_WORDS],
        flavors={one.get("name", ""): tuple(sorted(set((one.get("flavors") or {}).values()))) for one in assignments},
        updates=tuple(updates),
    )


def flavor_place(flavor: Raw) -> Place:
    """Where pods of a ResourceFlavor go."""
    spec: Raw = flavor.get("spec") or {}
    return Place(spec.get("nodeLabels") or {}, tuple(spec.get("tolerations") or ()))


def places(standing: Standing, queueing: Queueing) -> dict[Role, Place] | None:
    """Where the pods of each role go; None while a flavor was not read. Preparation goes where workers go."""
    result: dict[Role, Place] = {}
    for role in (role for role in Role if str(role) in standing.flavors):
        names = standing.flavors[role]
        if any(name not in queueing.flavors for name in names):
            return None
        wanted = [queueing.flavors[name] for name in names]
        wanted += [place for name, place in standing.updates if name == role]
        selector = {key: value for place in wanted for key, value in place.node_selector.items()}
        result[role] = Place(selector, tuple(one for place in wanted for one in place.tolerations))
    return result | ({Role.PREPARE: result[Role.WORKER]} if Role.WORKER in result else {})
