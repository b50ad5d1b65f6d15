"""The form of a benchmark's result, and how it is written: tests/bench/results/NAME.json."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


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


def measured(name: str, value: float, unit: str) -> Figure:
    """A figure without a promise."""
    return Figure(name, round(value, 3), unit, None, None)


def machine() -> dict[str, str | int]:
    """Cores, memory and kernel of this machine."""
    with open("/proc/meminfo", encoding="ascii") as file:
        total_kib = int(file.readline().split()[1])
    return {"cores": os.cpu_count() or 0, "memory_gib": round(total_kib / 2**20), "kernel": platform.release()}


def write(name: str, command: str, figures: list[Figure], *, note: str = "") -> Path:
    """Write the result and return its path."""
    result = {
        "name": name,
        "command": command,
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "note": note,
        "figures": [asdict(figure) for figure in figures],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return path
