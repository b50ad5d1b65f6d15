"""What an onlooker has seen of runs and their units, and when."""

from dataclasses import dataclass, field

from tests.bench.beside.watching import Object

from spade_contracts.labels import ROLE, Role

UNITS = ("EnvBatch", "RolloutJob")


@dataclass
class Book:
    """What the onlooker has seen."""

    runs: dict[tuple[str, str], Object] = field(default_factory=dict)
    generation_at: dict[tuple[str, str, int], float] = field(default_factory=dict)
    """When a run's status first was of that generation."""
    job_ended: dict[tuple[str, str], float] = field(default_factory=dict)
    unit_complete: dict[tuple[str, str], float] = field(default_factory=dict)
    units: set[tuple[str, str, str]] = field(default_factory=set)
    sandboxes: set[str] = field(default_factory=set)
    """UIDs of those that are ready, and so admitted."""

    def seen(self, event: str, thing: Object, at: float) -> None:
        """One event."""
        meta, kind = thing["metadata"], thing["kind"]
        key = meta["namespace"], meta["name"]
        if kind == "SpadeRun":
            self.runs[key] = thing
            generation = thing.get("status", {}).get("observedGeneration", 0)
            self.generation_at.setdefault((*key, generation), at)
        elif kind == "Pod":
            stands = meta["labels"].get(ROLE) == Role.SANDBOX and _is(thing, "Ready") and event != "DELETED"
            (self.sandboxes.add if stands else self.sandboxes.discard)(meta["uid"])
        elif kind in UNITS:
            self.units.add((kind, *key))
            if _is(thing, "Complete"):
                self.unit_complete.setdefault(key, at)
        elif kind == "Job" and _is(thing, "Complete"):
            self.job_ended.setdefault((meta["namespace"], meta["ownerReferences"][0]["name"]), at)

    def event_to_status(self, *kinds: str) -> list[float]:
        """Seconds from the end of a unit's Job to the unit's own status."""
        return [
            self.unit_complete[key] - self.job_ended[key]
            for kind, namespace, name in self.units
            if kind in kinds and (key := (namespace, name)) in self.unit_complete and key in self.job_ended
        ]


def _is(thing: Object, kind: str) -> bool:
    return any(c["type"] == kind and c["status"] == "True" for c in thing.get("status", {}).get("conditions", []))
