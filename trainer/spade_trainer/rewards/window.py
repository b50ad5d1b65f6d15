"""What a cycle's rollouts say of one environment, taken together (method.md §5.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from spade_contracts.manifests import RolloutManifest


@dataclass(frozen=True)
class Window:
    """Returns of one environment over its cycle."""

    unhinted: tuple[tuple[float, ...], ...]
    """Returns by rollout of the cycle, oldest first; rollouts without any are left out."""
    hinted: tuple[float, ...]
    environment_faults: int
    """Plays that the program itself failed, hinted ones included."""

    @property
    def plays(self) -> int:
        """Number of unhinted returns."""
        return sum(len(returns) for returns in self.unhinted)

    @property
    def win_rate(self) -> float:
        """Mean of all unhinted returns; 0 without any. Not a fraction: returns may be partial or negative."""
        returns = [value for offset in self.unhinted for value in offset]
        return mean(returns) if returns else 0.0


def window_of(environment: str, rollouts: Sequence[RolloutManifest]) -> Window:
    """The window of one environment; `rollouts` are those of its cycle, oldest first."""
    entries = [entry for rollout in rollouts for entry in rollout.environments if entry.id == environment]
    return Window(
        unhinted=tuple(entry.unhinted for entry in entries if entry.unhinted),
        hinted=tuple(value for entry in entries for value in entry.hinted),
        environment_faults=sum(entry.environment_faults for entry in entries),
    )


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean of at least one value; the sum is taken in the given order."""
    return sum(values) / len(values)
