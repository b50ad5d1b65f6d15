"""Choices without replacement, with the generator handed in: keyed in runs, Python's own in the reference's vectors."""

from collections.abc import Callable, Sequence

from spade_trainer.randomness import Purpose, generator

Choose = Callable[[int, int], Sequence[int]]
"""(n, k) → k distinct indices below n, in drawn order."""


def keyed(run_seed: int, purpose: Purpose, *keys: int) -> Choose:
    """Choices that depend on the run's seed and the place only. Each call goes on with one generator."""
    source = generator(run_seed, purpose, *keys)

    def choose(n: int, k: int) -> Sequence[int]:
        return [int(index) for index in source.choice(n, size=k, replace=False)]

    return choose
