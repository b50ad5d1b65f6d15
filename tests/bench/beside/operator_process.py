"""The operator as a process to be measured: its memory, processor time, and what it says of its own work."""

import os
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil
from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).parents[3]
HTTP_PORT = 9090
CALLS, PASSES = "spade_api_requests_total", "spade_reconcile_seconds_count"
FIGURES = f"http://127.0.0.1:{HTTP_PORT}/metrics?name[]={CALLS}&name[]={PASSES}"
"""The whole page has two hundred figures for each run: a quarter of a second of the operator's time."""
WRITES = frozenset({"create", "apply", "update", "patch", "delete"})


@dataclass(frozen=True)
class Reading:
    """Counts since the process began."""

    at: float
    cpu_seconds: float
    calls: Counter[tuple[str, str]]
    """Calls to the API server by verb and resource."""
    passes_by_kind: Counter[str]

    @property
    def passes(self) -> int:
        """Passes for objects of every kind."""
        return self.passes_by_kind.total()

    def all_calls(self) -> int:
        """Calls of every kind."""
        return sum(self.calls.values())

    def writes(self, *resources: str) -> int:
        """Writes to these resources, or to all but Leases."""
        return sum(
            count
            for (verb, resource), count in self.calls.items()
            if verb in WRITES and resource != "leases" and (not resources or resource in resources)
        )


def command() -> list[str | Path]:
    """How it is started."""
    return [sys.executable, "-m", "spade_operator.main"]


def environment(kubeconfig: Path, site: Path, identity: str) -> dict[str, str]:
    """Its environment; everything but the address is as the chart leaves it. A container that is restarted in its pod
    keeps its identity.
    """
    paths = [str(ROOT / part) for part in ("contracts", "operator")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "KUBECONFIG": str(kubeconfig),
        "SPADE_SITE": str(site),
        "SPADE_IDENTITY": identity,
        "SPADE_HTTP_HOST": "127.0.0.1",
        "SPADE_HTTP_PORT": str(HTTP_PORT),
    }


def read(process: int) -> Reading:
    """Its counts now. Raises OSError while it does not answer."""
    with urllib.request.urlopen(FIGURES, timeout=30) as answer:
        text = answer.read().decode()
    calls: Counter[tuple[str, str]] = Counter()
    passes: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == CALLS:
                calls[sample.labels["verb"], sample.labels["resource"]] += int(sample.value)
            elif sample.name == PASSES:
                passes[sample.labels["kind"]] += int(sample.value)
    times = psutil.Process(process).cpu_times()
    return Reading(time.monotonic(), times.user + times.system, calls, passes)


def answers(process: int) -> bool:
    """Whether it answers yet."""
    try:
        read(process)
    except (OSError, urllib.error.URLError):
        return False
    return True


def memory_mib(process: int) -> float:
    """Resident memory."""
    return float(psutil.Process(process).memory_info().rss) / 2**20
