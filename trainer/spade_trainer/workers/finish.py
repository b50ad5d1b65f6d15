"""Writing a unit's manifest when another worker 0 may have been faster."""

from typing import TypeVar

from pydantic import BaseModel

from spade_contracts.errors import StorageConflict
from spade_trainer.store import manifests
from spade_trainer.store.objects import Store

M = TypeVar("M", bound=BaseModel)


def finish_unit(store: Store, path: str, manifest: M) -> M:
    """Write the manifest; returns what stands there now.

    A worker on a lost node may finish the unit while its replacement works. The first manifest is the truth: it names
    whole parts of its own, so the later worker adopts it.
    """
    try:
        manifests.write(store, path, manifest)
    except StorageConflict:
        return manifests.read(store, path, type(manifest))
    return manifest
