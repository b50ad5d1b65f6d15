"""What a cycle's rollouts say of one environment, taken together (method.md §5.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from spade_contracts.manifests import RolloutManifest
from spade_trainer.rewards.composition import repeated


@dataclass(frozen=True)
class Window:
    """Returns of one environment over its cycle."""

    unhinted: tuple[tuple[float, ...], ...]
    """Returns by rollout of the cycle, oldest first; rollouts without any are left out. One that is here and empty
    counts as a mean of 0, as the reference takes it."""
    hinted: tuple[float, ...]
    environment_faults: int
    """Plays that the program itself failed, hinted ones included."""
    step_timeouts: int = 0
    """Those of them in which it exceeded its time."""
    pairs: tuple[tuple[float, float], ...] = ()
    """Returns without and with the hint of plays from one seed."""
    hint_return: float | None = None
    """Mean hinted return, where the single ones are not known."""

    @property
    def returns(self) -> tuple[float, ...]:
        """All unhinted returns, in order."""
        return tuple(value for offset in self.unhinted for value in offset)

    @property
    def plays(self) -> int:
        """Number of unhinted returns."""
        return len(self.returns)

    @property
    def win_rate(self) -> float:
        """Mean of all unhinted returns; 0 without any. Not a fraction: returns may be partial or negative (D15)."""
        return mean_or_zero(self.returns)

    @property
    def first_return(self) -> float:
        """Mean unhinted return of the first rollout that is here; 0 without any."""
        return mean_or_zero(self.unhinted[0]) if self.unhinted else 0.0

    @property
    def win_fraction(self) -> float:
        """Share of the first rollout's returns above 0, which the environment memory goes by; 0 without any (D15)."""
        first = self.unhinted[0] if self.unhinted else ()
        return mean_or_zero([float(value > 0) for value in first])

    @property
    def hinted_mean(self) -> float | None:
        """Mean hinted return; None without any."""
        return mean(self.hinted) if self.hinted else self.hint_return


def window_of(environment: str, rollouts: Sequence[RolloutManifest]) -> Window:
    """The window of one environment; `rollouts` are those of its cycle, oldest first."""
    entries = [entry for rollout in rollouts for entry in rollout.environments if entry.id == environment]
    return Window(
        unhinted=tuple(entry.unhinted for entry in entries if entry.unhinted),
        hinted=tuple(value for entry in entries for value in entry.hinted),
        environment_faults=sum(entry.environment_faults for entry in entries),
        step_timeouts=sum(entry.step_timeouts for entry in entries),
        pairs=tuple(pair for entry in entries for pair in entry.pairs),
    )


def with_repeats(rollout: RolloutManifest, wanted: int) -> RolloutManifest:
    """The rollout with its plays repeated in turn, by environment and play, until there are `wanted` returns.

    For windows only: everything but `unhinted` stays. Source: method.md §1.2.
    """
    owners = [entry.id for entry in rollout.environments for _ in entry.unhinted]
    values = [value for entry in rollout.environments for value in entry.unhinted]
    again: dict[str, list[float]] = {}
    for position, _ in repeated(len(values), wanted)[len(values) :]:
        again.setdefault(owners[position], []).append(values[position])
    entries = (
        entry.model_copy(update={"unhinted": (*entry.unhinted, *again.get(entry.id, ()))})
        for entry in rollout.environments
    )
    return rollout.model_copy(update={"environments": tuple(entries)})


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean of at least one value; the sum is taken in the given order."""
    return sum(values) / len(values)


def mean_or_zero(values: Sequence[float]) -> float:
    """Arithmetic mean, or 0 of nothing."""
    return mean(values) if values else 0.0
