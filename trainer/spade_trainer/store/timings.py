"""Seconds of stages, kept beside manifests and never in them, so that equal runs have byte-equal manifests."""

import json

from spade_trainer.store.objects import Store, names, read_bytes, replace


def write(store: Store, folder: str, who: str, seconds: dict[str, float]) -> None:
    """Record seconds by stage of one process's work on a unit; the same process may write again."""
    content = json.dumps({stage: round(value, 3) for stage, value in sorted(seconds.items())})
    replace(store, f"{folder}/timings-{who}.json", f"{content}\n".encode())


def read(store: Store, folder: str) -> dict[str, float]:
    """Seconds by stage of a unit: of each stage the longest among its processes. Empty without records."""
    longest: dict[str, float] = {}
    for name in names(store, folder):
        if name.startswith("timings-") and name.endswith(".json"):
            for stage, value in json.loads(read_bytes(store, f"{folder}/{name}")).items():
                longest[stage] = max(longest.get(stage, 0.0), float(value))
    return longest
