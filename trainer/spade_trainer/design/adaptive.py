"""How hard a procedural family's problems are: a window of levels that moves up with success (method.md §10).

It is computed from the recorded rollouts, not kept: what was answered at the top level decides when the top rises.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spade_contracts.config import MethodConfig
from spade_contracts.config.families import FamiliesConfig
from spade_trainer.randomness import Purpose, generator
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store

RIGHT = 1.0
"""Return of a right answer."""


@dataclass(frozen=True)
class Progress:
    """What is known of one family."""

    top: int = 0
    """The hardest level that its problems have."""
    attempts: int = 0
    """Plays at the top level since it was looked at last."""
    right: int = 0
    """Right answers among them."""


def after_rollout(progress: Progress, level: int, returns: Sequence[float], settings: FamiliesConfig) -> Progress:
    """The progress after one rollout in which the family's problem had this level.

    returns: those of its scored and truncated plays. Only the top level counts. With enough attempts the top rises by
    one if enough of them were right, and counting begins anew whether it rose or not.
    """
    if level < progress.top:
        return progress
    attempts = progress.attempts + len(returns)
    right = progress.right + sum(value >= RIGHT for value in returns)
    if attempts < settings.attempts:
        return replace(progress, attempts=attempts, right=right)
    rises = right / attempts >= settings.success and progress.top < settings.top
    return Progress(top=progress.top + rises)


def level_of(method: MethodConfig, cycle: int, slot: int, top: int) -> int:
    """The level of a family's problem in a cycle: drawn from the window's levels, all alike."""
    lowest = max(0, top - method.environments.families.window + 1)
    return int(generator(method.seed, Purpose.FAMILY, cycle, slot).integers(lowest, top + 1))


def levels_of(store: Store, method: MethodConfig, cycle: int) -> tuple[int, ...]:
    """The level of each slot in a cycle, folded over all rollouts before it.

    Raises ManifestMissing if an earlier rollout is not finished.
    """
    settings, length = method.environments.families, method.environments.cycle_length
    slots = range(method.environments.per_cycle)
    progress = [Progress() for _ in slots]
    for earlier in range(cycle):
        levels = [level_of(method, earlier, slot, progress[slot].top) for slot in slots]
        for rollout in range(earlier * length, (earlier + 1) * length):
            for played in manifests.read_rollout(store, rollout).environments:
                slot = layout.slot_of(played.id)
                progress[slot] = after_rollout(progress[slot], levels[slot], played.unhinted, settings)
    return tuple(level_of(method, cycle, slot, progress[slot].top) for slot in slots)
