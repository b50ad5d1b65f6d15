"""Attempts at a cycle of which no program was accepted, where a retry designs the cycle anew (allRejected: Pause).

Such an attempt has no manifest of the cycle, but a file of its own with the same content. Its parts, and all before
them, are not read for the cycle any more; they stay for people.
"""

from spade_contracts.manifests import BatchManifest
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store, create, names

NONE = -1
"""What `rejected_attempt` says when there is no such attempt."""


def write_rejected(store: Store, attempt: int, manifest: BatchManifest) -> BatchManifest:
    """Record an attempt of the Job that came to nothing; returns what stands there, as another may have been faster."""
    path = f"{layout.cycle_folder(manifest.cycle)}/{layout.rejected_file(attempt)}"
    create(store, path, manifests.canonical_json(manifest))
    return read_rejected(store, manifest.cycle, attempt)


def read_rejected(store: Store, cycle: int, attempt: int) -> BatchManifest:
    """What an attempt that came to nothing tried."""
    return manifests.read(store, f"{layout.cycle_folder(cycle)}/{layout.rejected_file(attempt)}", BatchManifest)


def rejected_attempts(store: Store, cycle: int) -> tuple[int, ...]:
    """The Job's attempts at a cycle that came to nothing, ascending."""
    found = names(store, layout.cycle_folder(cycle))
    return tuple(sorted(layout.rejected_attempt(name) for name in found if layout.is_rejected_file(name)))


def rejected_attempt(store: Store, cycle: int) -> int:
    """The last of them, or NONE."""
    return max(rejected_attempts(store, cycle), default=NONE)
