"""The form of a benchmark's result, and how it is written: tests/bench/results/NAME.json."""

import argparse
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from spade_cli.cluster import Run, connect, get_run

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class CpuTime:
    """Processor time of this machine since it began, in clock ticks over all cores."""

    used: int
    stolen: int
    """Wanted here while the host gave the core to another machine."""


def cpu_time() -> CpuTime:
    """Up to now (proc(5), /proc/stat)."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return CpuTime(user + nice + system + irq + softirq, steal)


BEGIN = cpu_time()
"""When the benchmark began."""


@dataclass(frozen=True)
class Figure:
    """One number. `target` is what the project promises, in words or as a bound; None where nothing is promised."""

    name: str
    value: float
    unit: str
    target: str | None
    met: bool | None


def at_most(name: str, value: float, unit: str, bound: float) -> Figure:
    """A figure that must not be above a bound."""
    return Figure(name, round(value, 3), unit, f"at most {bound:g}", value <= bound)


def at_least(name: str, value: float, unit: str, bound: float) -> Figure:
    """A figure that must not be below a bound."""
    return Figure(name, round(value, 3), unit, f"at least {bound:g}", value >= bound)


def measured(name: str, value: float, unit: str) -> Figure:
    """A figure without a promise."""
    return Figure(name, round(value, 3), unit, None, None)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def machine() -> dict[str, str | int | float]:
    """Cores, memory and kernel of this machine, and what share of its processor time its host took meanwhile."""
    now = cpu_time()
    used, stolen = now.used - BEGIN.used, now.stolen - BEGIN.stolen
    with open("/proc/meminfo", encoding="ascii") as file:
        total_kib = int(file.readline().split()[1])
    return {
        "cores": os.cpu_count() or 0,
        "memory_gib": round(total_kib / 2**20),
        "kernel": platform.release(),
        "stolen_percent": round(100 * stolen / max(1, used + stolen), 1),
    }


def write(
    name: str,
    command: str,
    figures: list[Figure],
    *,
    note: str = "",
    series: Mapping[str, Sequence[float]] | None = None,
) -> Path:
    """Write the result and return its path. `series`: what changed over time, by name, all of one length."""
    result = {
        "name": name,
        "command": command,
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "note": note,
        "figures": [asdict(figure) for figure in figures],
        **({"series": {key: list(values) for key, values in series.items()}} if series else {}),
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return path


def run_options(parser: argparse.ArgumentParser) -> Path:
    """Options that name a finished run, with `make demo`'s as default; returns where the cluster keeps its state."""
    home = Path(os.environ.get("SPADE_HOME", "/var/lib/spade"))
    parser.add_argument("--kubeconfig", default=os.environ.get("KUBECONFIG", str(home / "cluster" / "kubeconfig")))
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--run", default="mini")
    return home


def finished_run(arguments: argparse.Namespace) -> tuple[Run, datetime]:
    """The run that `run_options` name, and when it was finished. Exits when it is still at work."""
    run = get_run(connect(arguments.kubeconfig), arguments.namespace, arguments.run)
    if run.status.finished_at is None:
        raise SystemExit(f"run {run.namespace}/{run.name} is not finished: wait for it, then measure")
    return run, datetime.fromisoformat(run.status.finished_at)
