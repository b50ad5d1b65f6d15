"""Before the chart is removed: runs at work keep it, and what has ended goes while there is an operator.

Helm starts this as a Job with the operator's image (templates/uninstall.yaml), before it removes anything of the chart.
Deleted runs and EnvBatches free their pods by the operator, all else of theirs by owner references; run storage stays.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from spade_contracts.errors import SpadeError
from spade_contracts.labels import RUN
from spade_contracts.resources import ConditionStatus, RunCondition
from spade_operator.kube import Kube, Object
from spade_operator.kube_config import find_connection
from spade_operator.records import Kind

HEADS = (Kind.RUN, Kind.BATCH)
"""Kinds that have children of their own. Of EnvBatches only those without a run."""
ENDS = (RunCondition.COMPLETE, RunCondition.FAILED)
"""Conditions of an object that has given its pods back for good; an EnvBatch has them too."""
SHOWN = 20
WAIT_SECONDS = 240.0
"""Less than the five minutes that `helm uninstall` waits."""
LOOK_SECONDS = 1.0
REFUSED, UNFINISHED = 1, 2
"""Exit codes: runs are at work, and not everything went in time or the API server refused."""


class LiveRuns(StrEnum):
    """What happens to runs and stand-alone EnvBatches that have not ended."""

    REFUSE = "Refuse"
    DELETE = "Delete"


@dataclass(frozen=True)
class Head:
    """A SpadeRun or stand-alone EnvBatch."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    phase: str
    ended: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}{f' ({self.phase})' if self.phase else ''}"


def head_of(kind: Kind, raw: Object) -> Head:
    """What counts of an object as the API server has it. One without a status has not ended."""
    meta, status = raw["metadata"], raw.get("status") or {}
    true = {c["type"] for c in status.get("conditions") or [] if c["status"] == ConditionStatus.TRUE}
    return Head(kind, meta["namespace"], meta["name"], meta["uid"], status.get("phase", ""), bool(true & set(ENDS)))


def objection(heads: Sequence[Head], live_runs: LiveRuns, undo: str) -> str:
    """Why nothing may be removed now, and what to do; '' if nothing keeps the chart.

    undo: command after which Helm takes the release for whole again. A refused removal leaves it `uninstalling`, and
    Helm upgrades no such release.
    """
    live = [head for head in heads if not head.ended]
    if not live or live_runs is LiveRuns.DELETE:
        return ""
    names = "".join(f"\n  {head}" for head in live[:SHOWN])
    more = f"\n  and {len(live) - SHOWN} more" if len(live) > SHOWN else ""
    return (
        f"SPADE is not removed, because {len(live)} of its objects have not ended:{names}{more}\n"
        "Without an operator nothing would end them and free their pods. Let them end, or delete them\n"
        "(kubectl delete KIND NAME --namespace NAMESPACE; run storage stays), and run helm uninstall again.\n"
        f"To keep SPADE, or to upgrade it first to uninstall.liveRuns=Delete, make the release whole again:\n  {undo}"
    )


async def clear(kube: Kube, namespace: str, live_runs: LiveRuns, undo: str, seconds: float = WAIT_SECONDS) -> int:
    """Remove runs and EnvBatches unless one keeps the chart, and wait until no pod of theirs is left; the exit code."""
    left = ""
    try:
        async with asyncio.timeout(seconds):
            while True:
                heads = await _heads(kube, namespace)
                if refusal := objection(heads, live_runs, undo):
                    print(refusal)
                    return REFUSED
                pods = (await kube.list(Kind.POD, namespace, RUN, metadata_only=True)).items
                names = [f"Pod {pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in pods]
                left = ", ".join([*map(str, heads), *names][:SHOWN])
                if not left:
                    return 0
                for head in heads:
                    await kube.delete(head.kind, head.namespace, head.name, uid=head.uid)
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        print(f"after {seconds:.0f} s there is still: {left or 'an unanswered call'}. Look at the operator's log, then")
        print("remove the chart again, or with `helm uninstall --no-hooks` as it is.")
        return UNFINISHED


async def _heads(kube: Kube, namespace: str) -> list[Head]:
    found = [(kind, item) for kind in HEADS for item in (await kube.list(kind, namespace)).items]
    return [head_of(kind, item) for kind, item in found if kind is Kind.RUN or "source" in item["spec"]]


async def _main(namespace: str, live_runs: LiveRuns, undo: str) -> int:
    kube = Kube(find_connection(os.environ))
    try:
        return await clear(kube, namespace, live_runs, undo)
    except SpadeError as error:
        print(error)
        return UNFINISHED
    finally:
        await kube.close()


def main() -> None:
    """Exit with 0 when the chart may go."""
    parser = argparse.ArgumentParser(prog="spade_operator.uninstall", description=__doc__)
    parser.add_argument("--namespace", default="", help="the only namespace that was served; all if it is not given")
    parser.add_argument("--live-runs", type=LiveRuns, choices=list(LiveRuns), default=LiveRuns.REFUSE)
    parser.add_argument("--undo", required=True, help="what to tell those who want to keep the chart after a refusal")
    arguments = parser.parse_args()
    sys.exit(asyncio.run(_main(arguments.namespace, arguments.live_runs, arguments.undo)))


if __name__ == "__main__":
    main()
