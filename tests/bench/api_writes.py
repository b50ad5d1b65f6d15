"""API writes by the operator for each rollout of a finished run, from the API server's audit log, Leases excluded.

    python -m tests.bench.api_writes [--run NAME] [--namespace NS] [--audit-log FILE] [--kubeconfig FILE]

Counted are writes (create, update, patch, delete) to the run and its children from its first design to its completion,
averaged over all rollouts: with whole cycles in the run that is the average over a cycle.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.bench.record import at_most, finished_run, measured, run_options, write

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
BOUND_PER_ROLLOUT = 8.0


def events(path: Path) -> Iterator[dict[str, Any]]:
    """Audit events of the log and its rotated files; a line cut by rotation is passed over."""
    for file in sorted(path.parent.glob(f"{path.stem}*{path.suffix}")):
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


def operator_writes(path: Path, namespace: str, run: str, service_account: str) -> list[tuple[datetime, str]]:
    """Time and `verb resource` of each completed write by the operator to the run and what is named after it."""
    found = []
    for event in events(path):
        reference = event.get("objectRef", {})
        name = reference.get("name", "")
        if (
            event.get("stage") == "ResponseComplete"
            and event.get("verb") in WRITES
            and event.get("user", {}).get("username") == service_account
            and reference.get("resource") != "leases"
            and reference.get("namespace") == namespace
            # An Event's name begins with that of the object that it is about, and a dot.
            and (name == run or name.startswith((f"{run}-", f"{run}.")))
        ):
            resource = "/".join(filter(None, (reference.get("resource"), reference.get("subresource"))))
            when = datetime.fromisoformat(event["stageTimestamp"])
            found.append((when, f"{event['verb']} {resource}"))
    return found


def main() -> None:
    """Measure and write tests/bench/results/api_writes.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    home = run_options(parser)
    parser.add_argument("--audit-log", type=Path, default=home / "cluster" / "log" / "audit.log")
    parser.add_argument("--service-account", default="system:serviceaccount:spade-system:spade-operator")
    arguments = parser.parse_args()

    run, end = finished_run(arguments)
    began = datetime.fromisoformat(run.status.started_at or "")
    written = operator_writes(arguments.audit_log, run.namespace, run.name, arguments.service_account)
    # An earlier run of the same name is not counted.
    writes = [(when, what) for when, what in written if began <= when <= end]
    designs = [when for when, what in writes if what == "create envbatches"]
    if not designs:
        raise SystemExit(
            f"{arguments.audit_log} holds no design of run {run.name}: measure before the log rotates away"
        )
    start_up = [what for when, what in writes if when < min(designs)]
    looping = [what for when, what in writes if when >= min(designs)]
    for what, count in Counter(looping).most_common():
        print(f"{count:5} {what}")
    write(
        "api_writes",
        "python -m tests.bench.api_writes",
        [
            at_most("writes per rollout", len(looping) / run.spec.rollouts, "writes", BOUND_PER_ROLLOUT),
            measured("writes to start the run", len(start_up), "writes"),
        ],
    )


if __name__ == "__main__":
    main()
