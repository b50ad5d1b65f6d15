"""Families of games: nine to train on, two that only evaluation sees."""

from tools.tiny_model.families import cycle, levers, load, lock, market, pairs, pick, search, steps, sums, walk
from tools.tiny_model.families.base import Family

TRAINING_FAMILIES: tuple[Family, ...] = tuple(
    module.FAMILY for module in (search, sums, lock, pick, walk, cycle, steps, load, levers)
)
HELD_OUT_FAMILIES: tuple[Family, ...] = (pairs.FAMILY, market.FAMILY)


def family_of(observation: str) -> Family | None:
    """The family whose mark an observation carries, None for a game of no known kind."""
    return next((f for f in TRAINING_FAMILIES + HELD_OUT_FAMILIES if f.mark in observation), None)
