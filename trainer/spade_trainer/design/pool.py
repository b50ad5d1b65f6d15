"""Fixed pools: existing programs in place of a designer (method.md §10).

A pool is read whole and compared with the digest that the run names, so every cycle of a run draws from the same
programs. Which ones a cycle gets is a function of the run's seed and the cycle.
"""

from collections import deque

from spade_contracts.config.environments import PoolConfig
from spade_contracts.errors import InvalidInput
from spade_trainer.design.draws import keyed
from spade_trainer.randomness import Purpose
from spade_trainer.store.programs import ProgramFile, read_with_digest

WHERE = "environments.designer.pool"
UNKNOWN_SKILL = "unknown"
"""Skill of a pool's programs, as the reference logs it (method.md §10)."""


class PoolNotFound(InvalidInput):
    """There is no pool at this URI, or nothing in it."""


class PoolChanged(InvalidInput):
    """The pool is another one than the run names."""


def read_pool(settings: PoolConfig) -> tuple[ProgramFile, ...]:
    """The programs of a pool, sorted by path.

    Raises PoolNotFound if none can be read, PoolChanged if they have another digest than the settings name, and
    StorageUnreachable if S3 fails.
    """
    try:
        programs, found = read_with_digest(settings.uri)
    except (InvalidInput, OSError) as error:
        raise PoolNotFound(f"{WHERE}.uri", str(error)) from error
    if found != settings.sha256:
        raise PoolChanged(
            f"{WHERE}.sha256",
            f"{settings.uri} has the digest {found}, not {settings.sha256 or 'none'}",
            remedy="Correct the pool, or write that digest if these are the programs that are meant.",
        )
    return programs


def pool_draws(run_seed: int, size: int, per_cycle: int, cycle: int) -> tuple[int, ...]:
    """Indices of the programs of a cycle, by slot: without replacement over the run, and never one twice in a cycle.

    The pool is gone through in a shuffled order. When it ends within a cycle, it is shuffled anew; programs that the
    cycle has already are put off to the next one. A pool smaller than a cycle gives all its programs to each.
    """
    count = min(per_cycle, size)
    queue: deque[int] = deque()
    rounds = 0
    drawn: list[int] = []
    for _ in range(cycle + 1):
        drawn = []
        put_off: list[int] = []
        while len(drawn) < count:
            if not queue:
                queue.extend(keyed(run_seed, Purpose.POOL, rounds)(size, size))
                rounds += 1
            index = queue.popleft()
            (put_off if index in drawn else drawn).append(index)
        queue.extendleft(reversed(put_off))
    return tuple(drawn)
