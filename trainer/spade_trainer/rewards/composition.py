"""Which samples make a batch: order, trims, repeats and padding, by position alone (method.md §1.2).

Nothing here knows what a sample is. A play is one unit however many samples it gives.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spade_contracts.config import MethodConfig
from spade_contracts.config.switches import BatchDenominator, ShortBatches, SurplusSamples, Switches
from spade_trainer.randomness import Purpose, generator

Keep = Callable[[int, int], Sequence[int]]
"""(of how many, how many) → positions to keep, ascending, all different."""


@dataclass(frozen=True)
class Place:
    """One unit of a batch."""

    designer: bool
    index: int
    """Into the designer samples, or into the plays."""
    repeat: int = 0
    """0 for itself, n for its n-th repeat."""
    padding: bool = False
    """A copy without any trained token."""


@dataclass(frozen=True)
class Composition:
    """A batch by position."""

    places: tuple[Place, ...]
    """Designer samples first, then plays and their repeats, then padding."""
    trimmed: tuple[Place, ...]
    """What was left out because there were too many, in order."""

    @property
    def real(self) -> tuple[Place, ...]:
        """All places but padding."""
        return tuple(place for place in self.places if not place.padding)

    @property
    def repeats(self) -> int:
        """Places that repeat a play."""
        return sum(place.repeat > 0 for place in self.real)

    @property
    def padding(self) -> int:
        """Places without any trained token."""
        return len(self.places) - len(self.real)


def full_batch(method: MethodConfig) -> int:
    """Units of a batch in which nothing is missing."""
    return method.environments.per_cycle * method.play.plays_per_environment


def batch_denominator(method: MethodConfig, units: int) -> float:
    """What the summed loss of so many real units is divided by (switch batchDenominator)."""
    fixed = method.switches.batch_denominator is BatchDenominator.FIXED
    return float(full_batch(method) if fixed else max(1, units))


def rescale(method: MethodConfig, units: int) -> float:
    """Factor of every advantage in a batch of so many real units.

    With the fixed denominator the reference averages over real samples if there is no KL term (method.md §1.2, empty
    cases); else 1.
    """
    full = full_batch(method)
    fixed = method.switches.batch_denominator is BatchDenominator.FIXED
    return full / units if fixed and method.learner.loss.kl_coefficient == 0 and 0 < units < full else 1.0


def drawn(seed: int, rollout: int) -> Keep:
    """What keeps plays at random: the same ones for the same run seed and rollout."""

    def keep(count: int, wanted: int) -> list[int]:
        chosen = generator(seed, Purpose.BATCH, rollout).permutation(count)[:wanted]
        return sorted(int(position) for position in chosen)

    return keep


def repeated(count: int, wanted: int) -> tuple[tuple[int, int], ...]:
    """(position, repeat) of `count` things, repeated in turn until there are `wanted`; nothing stays nothing.

    Vector V25.
    """
    return tuple((n % count, n // count) for n in range(max(count, wanted))) if count else ()


def plays_wanted(full: int, generated: int, switches: Switches) -> int:
    """How many plays a rollout's own are repeated to; 0: they are not.

    full: samples of a whole batch. generated: designs that this rollout itself began with.
    """
    return max(0, full - generated) if switches.short_batches is ShortBatches.FILLED else 0


def compose(designers: int, plays: int, *, full: int, generated: int, switches: Switches, keep: Keep) -> Composition:
    """The batch out of so many designer samples that are due and so many plays.

    full: samples of a whole batch. generated: designs that this rollout itself began with. keep: draws the plays that
    stay where surplus goes at random.
    """
    players = [Place(False, index, again) for index, again in repeated(plays, plays_wanted(full, generated, switches))]
    order = [Place(True, index) for index in range(designers)] + players
    kept = _kept(designers, len(players), full, switches, keep)
    places = [order[position] for position in kept]
    staying = set(kept)
    trimmed = tuple(place for position, place in enumerate(order) if position not in staying)
    if switches.short_batches is ShortBatches.FILLED and 0 < len(places) < full:
        filled = repeated(len(places), full)[len(places) :]
        places += [Place(places[at].designer, places[at].index, again, padding=True) for at, again in filled]
    return Composition(tuple(places), trimmed)


def _kept(designers: int, players: int, full: int, switches: Switches, keep: Keep) -> list[int]:
    """Positions that stay of designers before players."""
    total = designers + players
    if switches.surplus_samples is SurplusSamples.KEPT or total <= full:
        return list(range(total))
    if switches.surplus_samples is SurplusSamples.TAIL or designers >= full:
        return list(range(full))
    return [*range(designers), *(designers + position for position in keep(players, full - designers))]
