"""Seconds of stages, kept beside manifests and never in them, so that equal runs have byte-equal manifests."""

import json

from spade_trainer.store.objects import Store, replace


def write(store: Store, folder: str, who: str, seconds: dict[str, float]) -> None:
    """Record seconds by stage of one process's work on a unit; the same process may write again."""
    content = json.dumps({stage: round(value, 3) for stage, value in sorted(seconds.items())})
    replace(store, f"{folder}/timings-{who}.json", f"{content}\n".encode())
