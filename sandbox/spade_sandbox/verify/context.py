"""What the gate is told of the world around a program: the run's other programs, its corpus, models to ask."""

from dataclasses import dataclass

MAX_TURNS = 25
"""Turns of an episode in play (method.md §1.5)."""


@dataclass(frozen=True)
class GateContext:
    """Nothing here is the program's own; a part that is missing is said in the verdict's facts."""

    max_turns: int = MAX_TURNS
    """Turns of an episode, as programs will be played."""
    documents: tuple[str, ...] = ()
    """Titles and names by which an observation would give the corpus document away."""
