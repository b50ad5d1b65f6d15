"""What scoring a window and assembling a batch cost: tests/bench/results/assembly.json.

    python -m tests.bench.assembly

Run storage holds a cycle of 24 environments with 64 plays each and a further rollout with 768 plays of 16,384 tokens.
A process of its own reads them, pays the 24 designs of the cycle, credits the plays and digests the batch, as the
learner does before a step. Processor time is of all its threads; memory is the most that the process ever held.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.beside.rollouts import ENVIRONMENTS, LENGTH, PLAYS, RUN, TOKENS, write_window
from tests.bench.record import at_most, measured, percentile, write

from spade_trainer.assembly import assemble
from spade_trainer.store.objects import open_store

ROUNDS = 3
BOUND_SECONDS = 2.0
BOUND_GIB = 1.0


def measure(uri: str, rollout: int) -> dict[str, float]:
    """One assembly in this process, which has done nothing before."""
    cpu, wall = time.process_time(), time.monotonic()
    batch = assemble(open_store(uri), RUN, rollout)
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.monotonic() - wall,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "players": batch.player_samples,
        "designers": batch.designer_samples,
        "tokens": batch.tokens,
    }


def main() -> None:
    """Measure and write; with --measure be the process that is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs=2, metavar=("URI", "ROLLOUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure[0], int(arguments.measure[1]))))
        return
    with tempfile.TemporaryDirectory(prefix="spade-assembly-") as folder:
        uri = Path(folder).as_uri()
        rollout = write_window(open_store(uri))
        command = [sys.executable, "-m", "tests.bench.assembly", "--measure", uri, str(rollout)]
        runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(ROUNDS)]
    assert {(run["players"], run["designers"]) for run in runs} == {(ENVIRONMENTS * PLAYS, ENVIRONMENTS)}

    def median(key: str) -> float:
        return percentile([run[key] for run in runs], 0.5)

    figures = [
        at_most("scoring and assembling, processor time, median", median("cpu"), "s", BOUND_SECONDS),
        measured("scoring and assembling, wall clock, median", median("wall"), "s"),
        at_most("most memory of the process", max(run["peak_gib"] for run in runs), "GiB", BOUND_GIB),
    ]
    note = (
        f"A window of {ENVIRONMENTS} environments x {PLAYS * LENGTH} plays, a batch of {ENVIRONMENTS * PLAYS} plays "
        f"of {TOKENS} tokens and {ENVIRONMENTS} programs; {runs[0]['tokens']:.0f} tokens, from Parquet to the batch's "
        f"digest; {ROUNDS} processes."
    )
    print(write("assembly", "python -m tests.bench.assembly", figures, note=note).read_text())


if __name__ == "__main__":
    main()
