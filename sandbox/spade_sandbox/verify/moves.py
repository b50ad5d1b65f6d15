"""What a player does in either domain, and an episode of it: the common currency of the controls. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

FULL_REWARD = 1.0 - 1e-6
"""Full success is 1.0 (method.md §2.2); programs add it up in floating point."""
MAX_TURNS = 25
"""Turns of an episode in play (method.md §1.5)."""
PAID = 0.5
"""A control that deserves nothing and ends an episode with more than this has been paid for nothing."""


@dataclass(frozen=True)
class Move:
    """One thing that a player does: an action of a game, a text to a tool environment, or a tool call."""

    action: str = ""
    name: str = ""
    """Tool to call; empty for an action."""
    arguments: str = ""
    """JSON text of the call's arguments."""

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})" if self.name else repr(self.action)


@dataclass(frozen=True)
class Outcome:
    """What came of one move. A tool call earns nothing and ends nothing."""

    text: str
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    failed: bool = False
    """Whether a tool call raised."""

    @property
    def won(self) -> bool:
        """Full success (method.md §5.1)."""
        return self.terminated and self.reward >= FULL_REWARD

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated


@dataclass
class Episode:
    """One episode from a reset on, as far as it was played."""

    seed: int
    opening: str
    moves: list[Move] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def won(self) -> bool:
        """Whether the last move won."""
        return bool(self.outcomes) and self.outcomes[-1].won

    @property
    def earned(self) -> float:
        """Its return (method.md §5.1): the last reward, in [-1, 1], if the program ended it."""
        last = self.outcomes[-1] if self.outcomes else None
        return max(-1.0, min(1.0, last.reward)) if last is not None and last.terminated else 0.0

    @property
    def paid(self) -> bool:
        """Whether it ended with more than nothing deserves."""
        return self.earned > PAID

    @property
    def last(self) -> str:
        """The latest text that the player saw."""
        return self.outcomes[-1].text if self.outcomes else self.opening


@dataclass(frozen=True)
class Solved:
    """A program's own solution, shown to win."""

    exact: bool
    """Whether it has the form asked for."""
    moves: dict[int, tuple[Move, ...]]
    """By seed, up to the move that wins."""
    early: bool
    """Whether it won before its last move from every seed."""
    outcomes: tuple[Outcome, ...]
    """What came of its moves from the first seed."""


@dataclass(frozen=True)
class Look:
    """What one seed shows, and what lies behind it."""

    seed: int
    opening: str
    hidden: Mapping[str, str]
    """The program's state after the reset, as text."""
    solution: str
    """The program's own solution, or an empty text."""
    blunder: str
    """The answers to moves that deserve none; empty if that ends the episode, or if none was made."""
    tools: str = ""
    """What the list of tools tells beside names."""
