"""Top-ups: environments that a cycle gets in mid-cycle for the slots that stayed empty (switch missingPrograms).

A top-up is a unit of run storage of its own, in the cycle's folder. It is finished before the plays of its rollout
begin and is never changed afterwards, so what a rollout plays is a function of run storage. Source: method.md §1.2.
"""

from spade_contracts.config import MethodConfig
from spade_contracts.manifests import BatchManifest, EnvironmentEntry
from spade_trainer.store import manifests
from spade_trainer.store.objects import Store, exists


def topups_of(store: Store, method: MethodConfig, cycle: int, *, until: int) -> tuple[BatchManifest, ...]:
    """The finished top-ups of a cycle for its rollouts up to and including `until`, oldest first."""
    length = method.environments.cycle_length
    rollouts = range(cycle * length, min((cycle + 1) * length, until + 1))
    found = (find_topup(store, method, rollout) for rollout in rollouts)
    return tuple(topup for topup in found if topup is not None)


def find_topup(store: Store, method: MethodConfig, rollout: int) -> BatchManifest | None:
    """The finished top-up for a rollout, if there is one."""
    if not method.may_top_up(rollout):
        return None
    return manifests.find(store, manifests.batch_path(method.cycle_of(rollout), rollout), BatchManifest)


def programs_of(store: Store, method: MethodConfig, cycle: int, *, until: int) -> tuple[EnvironmentEntry, ...]:
    """All environments that a cycle has had up to and including a rollout, retired ones too.

    Raises ManifestMissing if the cycle is not designed yet.
    """
    batches = (manifests.read_batch(store, cycle), *topups_of(store, method, cycle, until=until))
    return tuple(entry for batch in batches for entry in batch.environments)


def wanted_slots(store: Store, method: MethodConfig, cycle: int, rollout: int | None) -> tuple[int, ...]:
    """The slots that are designed for a cycle, or to top it up for a rollout: those that no environment has had yet.

    A retired environment keeps its slot, as its program is still there. A rollout that was played is topped up no more.
    """
    slots = range(method.environments.per_cycle)
    if rollout is None:
        return tuple(slots)
    if exists(store, manifests.rollout_path(rollout)):
        return ()
    taken = {entry.slot for entry in programs_of(store, method, cycle, until=rollout - 1)}
    return tuple(slot for slot in slots if slot not in taken)
