"""Seconds between the end of one stage and the start of the work of the next, in a finished run on a local volume.

    python -m tests.bench.control_plane_overhead [--run NAME] [--namespace NS]

Work is what processes timed themselves (the `timings-*.json` files of run storage: seconds of work, written when it
ended); all between is overhead: the operator's pass, the API server, the scheduler, the kubelet, and a process's start.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.record import at_most, finished_run, measured, run_options, write

from spade_cli.cluster import connect

BOUND_SECONDS = 3.0


@dataclass(frozen=True)
class Work:
    """One stage's work, in seconds since the epoch."""

    began: float
    ended: float


def work_in(folder: Path, pattern: str = "timings-*.json") -> Work | None:
    """The work that the timings files of a unit tell of: from the first beginning to the last end."""
    spans = []
    for path in folder.glob(pattern):
        ended = path.stat().st_mtime
        spans.append(Work(ended - sum(json.loads(path.read_bytes()).values()), ended))
    return Work(min(s.began for s in spans), max(s.ended for s in spans)) if spans else None


def gaps(run: Path, rollouts: int, cycle_length: int) -> dict[str, list[float]]:
    """Gap name → seconds, one for each time that the gap occurred."""
    found: dict[str, list[float]] = {}
    before: tuple[str, Work] | None = None
    for rollout in range(rollouts):
        stages: list[tuple[str, Work | None]] = []
        if rollout % cycle_length == 0:
            stages.append(("design", work_in(run / "cycles" / f"{rollout // cycle_length:04d}")))
        stages.append(("play", work_in(run / "rollouts" / f"{rollout:04d}")))
        stages.append(("train", work_in(run / "steps" / f"{rollout:04d}")))
        stages.append(("prove", work_in(run / "policies" / f"{rollout + 1:04d}", "timings-proof-*.json")))
        for name, work in stages:
            if work is None:
                before = None  # pruned: nothing is known of it
                continue
            if before is not None:
                found.setdefault(f"{before[0]} to {name}", []).append(max(0.0, work.began - before[1].ended))
            before = (name, work)
    return found


def run_folder(api: Any, namespace: str, claim: str, name: str) -> Path:
    """A run's folder on this machine: its claim's volume must be a local one."""
    from kubernetes import client

    core = client.CoreV1Api(api)
    volume = core.read_namespaced_persistent_volume_claim(claim, namespace).spec.volume_name
    local = core.read_persistent_volume(volume).spec.local
    if local is None:
        raise SystemExit(f"volume {volume} is not local: measure on the development cluster")
    return Path(local.path) / namespace / name


def main() -> None:
    """Measure and write tests/bench/results/control_plane_overhead.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    run_options(parser)
    arguments = parser.parse_args()
    run, _ = finished_run(arguments)
    claim = run.spec.storage.claim_name or f"{run.name}-storage"
    folder = run_folder(connect(arguments.kubeconfig), run.namespace, claim, run.name)
    figures = []
    for name, seconds in sorted(gaps(folder, run.spec.rollouts, run.spec.method().environments.cycle_length).items()):
        figures.append(at_most(f"{name}, longest", max(seconds), "s", BOUND_SECONDS))
        figures.append(measured(f"{name}, mean of {len(seconds)}", sum(seconds) / len(seconds), "s"))
    write(
        "control_plane_overhead",
        "python -m tests.bench.control_plane_overhead",
        figures,
        note="From the end of one stage's work to the start of the next stage's, images cached. The export of a policy "
        "is part of `train to prove`.",
    )


if __name__ == "__main__":
    main()
