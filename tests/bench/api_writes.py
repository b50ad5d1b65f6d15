"""API writes by the operator for each rollout of a finished run, from the API server's audit log, Leases excluded.

    python tests/bench/api_writes.py --audit-log FILE --kubeconfig FILE --run NAME [--namespace NS]

Counted are writes (create, update, patch, delete) to anything in the run's namespace between the first design and the
completion of the run, averaged over all rollouts: with whole cycles in the run that is the average over a cycle.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from record import at_most, measured, write

from spade_cli.cluster import connect, get_run

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
BOUND_PER_ROLLOUT = 12.0


def events(path: Path) -> Iterator[dict[str, Any]]:
    """Audit events of the log and its rotated files; a line cut by rotation is passed over."""
    for file in sorted(path.parent.glob(f"{path.stem}*{path.suffix}")):
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


def operator_writes(path: Path, namespace: str, service_account: str) -> list[tuple[datetime, str]]:
    """Time and `verb resource` of each completed write by the operator in the namespace."""
    found = []
    for event in events(path):
        reference = event.get("objectRef", {})
        if (
            event.get("stage") == "ResponseComplete"
            and event.get("verb") in WRITES
            and event.get("user", {}).get("username") == service_account
            and reference.get("resource") != "leases"
            and reference.get("namespace") == namespace
        ):
            resource = "/".join(filter(None, (reference.get("resource"), reference.get("subresource"))))
            when = datetime.fromisoformat(event["stageTimestamp"])
            found.append((when, f"{event['verb']} {resource}"))
    return found


def main() -> None:
    """Measure and write tests/bench/results/api_writes.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audit-log", type=Path, required=True)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--service-account", default="system:serviceaccount:spade-system:spade-operator")
    arguments = parser.parse_args()

    run = get_run(connect(arguments.kubeconfig), arguments.namespace, arguments.run)
    first = min(datetime.fromisoformat(c.last_transition_time.isoformat()) for c in run.status.conditions)
    if not (run.status.started_at and run.status.finished_at):
        raise SystemExit(f"run {run.name} is not finished: wait for it, then measure")
    ready = max(c.last_transition_time for c in run.status.conditions if c.type in ("Isolated", "EnginesReady"))
    end = datetime.fromisoformat(run.status.finished_at)
    writes = operator_writes(arguments.audit_log, arguments.namespace, arguments.service_account)
    start_up = [what for when, what in writes if first <= when < ready]
    looping = [what for when, what in writes if ready <= when <= end]
    for what, count in Counter(looping).most_common():
        print(f"{count:5} {what}")
    write(
        "api_writes",
        "python tests/bench/api_writes.py",
        [
            at_most("writes per rollout", len(looping) / run.spec.rollouts, "writes", BOUND_PER_ROLLOUT),
            measured("writes to start the run", len(start_up), "writes"),
        ],
    )


if __name__ == "__main__":
    main()
