"""Which canaries a cycle's gate is tried on, as a function of the run's seed: a second attempt is tried on the same."""

import random
from collections.abc import Sequence
from typing import TypeVar

from spade_contracts.config import MethodConfig
from spade_sandbox.verify import canaries
from spade_sandbox.verify.canaries import Canary
from spade_trainer.randomness import Purpose, seed_for

Work = TypeVar("Work")


def canaries_of(method: MethodConfig, cycle: int) -> tuple[tuple[Canary, str], ...]:
    """The canaries of a cycle, each with the text that the gate is asked about."""
    settings = method.environments.verification
    rng = _generator(method, cycle)
    drawn = canaries.draw(canaries.shipped(method.environments.domain), settings.canaries, settings.stages, rng)
    return canaries.disguised(drawn, rng)


def mixed(method: MethodConfig, cycle: int, work: Sequence[Work]) -> tuple[Work, ...]:
    """The same pieces of work in the cycle's own order, so that no place is a canary's."""
    return tuple(_generator(method, cycle).sample(work, len(work)))


def _generator(method: MethodConfig, cycle: int) -> random.Random:
    return random.Random(seed_for(method.seed, Purpose.CANARY, cycle))  # noqa: S311  # a draw that can be repeated
