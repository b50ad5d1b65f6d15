"""How far engines and learner are apart, beside the measured noise: tests/bench/results/weight_proof.json.

    python -m tests.bench.weight_proof [--seeds N]

A real learner of two ranks trains the shipped tiny model at the demonstration's learning rate and proves a real engine
at each version, once for each of several probes.
"""

import argparse
import re
import shutil
import tempfile
from functools import partial
from pathlib import Path

from tests.bench.record import Figure, at_most, measured, write
from tests.component.engine.conftest import CONTROL_TOKEN, start_engine, stop_engine, wait_for_boot
from tests.component.learner.process import start_learner
from tests.component.learner.runs import make_run, settings

import spade_trainer.models
from spade_contracts.statuses import EngineProof, LearnerStatus, ProofResult
from spade_trainer.weights.proof import MARGIN, TOLERANCE

TINY = Path(spade_trainer.models.__file__).parent / "tiny"
VERSIONS = 4
FIGURES = re.compile(
    r"([0-9.]+) nats a token from the new policy, ([0-9.]+) from the old, which differ by [0-9.]+, noise ([0-9.]+)"
)


def _proven(version: int, status: LearnerStatus) -> bool:
    return any(proof.policy_version == version for proof in status.proofs)


def proofs(seed: int, folder: Path) -> list[EngineProof]:
    """The proofs of versions 1 to VERSIONS of a run with this seed."""
    config = settings(optimizer={"learning_rate": 1e-3}).model_copy(update={"seed": seed})
    store = make_run(folder / "storage", config, rollouts=VERSIONS, model=TINY)
    engine = start_engine(folder / "engine", store)
    found = []
    try:
        ports = (engine.control_port, engine.status_port)
        learner = start_learner(folder / "learner", store, engine_ports=ports, engine_token=CONTROL_TOKEN)
        try:
            learner.until_listening()
            wait_for_boot(engine)
            for version in range(1, VERSIONS + 1):
                assert learner.put_target(version, {"e0": "127.0.0.1"}) == 200
                status = learner.until(partial(_proven, version))
                found.append(status.proofs[0])
                print(seed, found[-1].result, found[-1].detail, flush=True)
        finally:
            learner.stop()
    finally:
        stop_engine(engine)
    return found


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    arguments = parser.parse_args()
    found = []
    for seed in range(arguments.seeds):
        folder = Path(tempfile.mkdtemp(prefix="spade-proof-"))
        try:
            found += proofs(seed, folder)
        finally:
            shutil.rmtree(folder)
    rows = [tuple(map(float, match.groups())) for proof in found if (match := FIGURES.search(proof.detail))]
    times = "times the noise"
    verified = sum(proof.result is ProofResult.VERIFIED for proof in found)
    figures: list[Figure] = [
        at_most("proofs that failed", sum(proof.result is ProofResult.MISMATCH for proof in found), "proofs", 0),
        measured("proofs decided by the probe", verified / len(found), "share"),
        at_most("engine to learner, most", max(new / noise for new, _, noise in rows), times, TOLERANCE),
        measured("engine to learner, mean", sum(new / noise for new, _, noise in rows) / len(rows), times),
        measured(
            "nearer to the new than to the old, least", min((old - new) / noise for new, old, noise in rows), times
        ),
    ]
    note = (
        f"Tiny model, learning rate 1e-3, {len(found)} proofs; an engine that is nearer to the new version by "
        f"{MARGIN:g} times the noise is proven by the probe, others by checksum and canary."
    )
    print(write("weight_proof", "python -m tests.bench.weight_proof", figures, note=note))


if __name__ == "__main__":
    main()
