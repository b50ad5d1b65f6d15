"""Which samples make a batch: order, trims, repeats and padding, by position alone (method.md §1.2).

Nothing here knows what a sample is. A play is one unit however many samples it gives.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spade_contracts.config.switches import ShortBatches, SurplusSamples, Switches

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
