"""How fast a rollout's episodes are written to run storage and read again: tests/bench/results/parquet.json.

    python -m tests.bench.parquet

768 plays of 16,384 tokens in 24 parts, as play workers write and the learner reads them, on a folder. A megabyte is
one of tokens, masks, log-probabilities and texts in memory. Processor time is of all threads; the clock on the wall
also waits for the disk, which every part is flushed to.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.beside.rollouts import ENVIRONMENTS, PLAYS, TOKENS, plays
from tests.bench.record import Figure, at_least, measured, write

from spade_trainer.store import layout
from spade_trainer.store.episodes import Episode, read_part, write_episodes
from spade_trainer.store.objects import open_store

ROUNDS = 3
BOUND_MB_PER_SECOND = 100.0
ROLLOUT = 2


@dataclass(frozen=True)
class Seconds:
    """What one pass over a rollout took."""

    cpu: float
    wall: float


def size_bytes(episodes: Sequence[Episode]) -> int:
    """What these episodes hold."""
    arrays = sum(
        array.nbytes
        for one in episodes
        for array in (one.trajectory.token_ids, one.trajectory.loss_mask, one.trajectory.log_probs)
    )
    return arrays + sum(len(text.encode()) for one in episodes for text in (*one.actions, *one.observations))


def timed(work: Callable[[], object]) -> Seconds:
    """Processor and wall-clock time of some work."""
    cpu, wall = time.process_time(), time.monotonic()
    work()
    return Seconds(time.process_time() - cpu, time.monotonic() - wall)


def both_ways(rollout: Sequence[Sequence[Episode]]) -> tuple[Seconds, Seconds]:
    """Write all parts, then read all."""
    with tempfile.TemporaryDirectory(prefix="spade-parquet-") as folder:
        store = open_store(Path(folder).as_uri())

        def write_all() -> None:
            for slot, part in enumerate(rollout):
                write_episodes(store, ROLLOUT, slot, 0, part)

        def read_all() -> None:
            for slot in range(len(rollout)):
                read_part(store, ROLLOUT, layout.episodes_part(slot, 0))

        return timed(write_all), timed(read_all)


def figures(what: str, megabytes: float, found: Sequence[Seconds]) -> list[Figure]:
    """Of one direction, at the median."""
    by_cpu = sorted(megabytes / one.cpu for one in found)[len(found) // 2]
    by_wall = sorted(megabytes / one.wall for one in found)[len(found) // 2]
    return [
        at_least(f"{what}, by processor time", by_cpu, "MB/s", BOUND_MB_PER_SECOND),
        measured(f"{what}, by the clock on the wall", by_wall, "MB/s"),
    ]


def main() -> None:
    """Measure and write."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rollout = [list(plays(ROLLOUT, slot)) for slot in range(ENVIRONMENTS)]
    megabytes = sum(size_bytes(part) for part in rollout) / 1e6
    found = [both_ways(rollout) for _ in range(ROUNDS)]
    results = [
        *figures("writing", megabytes, [one for one, _ in found]),
        *figures("reading", megabytes, [other for _, other in found]),
    ]
    note = (
        f"{ENVIRONMENTS * PLAYS} plays of {TOKENS} tokens, {megabytes:.0f} MB in {ENVIRONMENTS} parts; {ROUNDS} rounds."
    )
    print(write("parquet", "python -m tests.bench.parquet", results, note=note).read_text())


if __name__ == "__main__":
    main()
