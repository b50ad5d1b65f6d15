"""Deletes the folder of a deleted run from run storage (`storage.onDelete: Delete`)."""

from spade_contracts.errors import StorageConflict
from spade_contracts.manifests import RunManifest
from spade_contracts.statuses import CleanupSummary
from spade_contracts.tasks import CleanupTask
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import every_name, open_store, remove


def cleanup(task: CleanupTask) -> CleanupSummary:
    """Delete everything in the folder, then the folder; doing it again goes on. A folder that is gone is no error.

    Raises StorageConflict, and deletes nothing, if the folder is not the run's; OSError if storage fails.
    """
    store = open_store(task.run.storage_uri)
    if not store.root.endswith(f"/{task.run.namespace}/{task.run.name}"):
        raise StorageConflict(f"{store.uri} is not the folder of {task.run.namespace}/{task.run.name}")
    run = manifests.find(store, manifests.run_path(), RunManifest)
    if run is not None and (run.namespace, run.name) != (task.run.namespace, task.run.name):
        raise StorageConflict(
            f"{store.uri} holds run {run.namespace}/{run.name}; it was left as it is.",
            remedy="Remove it yourself, or set spec.storage.onDelete: Retain.",
        )
    names = every_name(store, "")
    # run.json goes last: until then the folder says whose it is.
    for name in sorted(names, key=lambda name: (name == layout.RUN, name)):
        remove(store, name)
    remove(store, "")
    return CleanupSummary(removed=len(names), storage_uri=store.uri)
