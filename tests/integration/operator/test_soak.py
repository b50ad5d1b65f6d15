"""Rollout after rollout costs the same: the operator's memory, its calls and what is left in the namespace stay flat.

The API server, the garbage collector and the operator are real; engine, learner and workers are scripted and take no
time of their own.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.integration.operator.conftest import Stage
from tests.integration.operator.test_run_life import complete
from tests.support.api_server import ApiServer
from tests.support.controllers import running_controllers

from spade_operator.kube import Object
from spade_operator.records import Kind

SAMPLE, ALL = 30, 2000
MARKS = 10
"""Looks during a run, the first after so many equal parts of it."""
MEMORY_GROWTH_KIB = 8 * 1024
"""Between the second look and the last: the allocator's, and what is remembered of deleted objects up to a bound."""
WRITES = ("create", "apply", "patch", "update", "delete")
CALL = re.compile(r'^spade_api_requests_total{code="(\w+)",resource="([\w./-]+)",verb="(\w+)"} (\S+)$', re.MULTILINE)
KEPT = frozenset({"persistentvolumeclaim", "event"})
"""What a deleted run leaves behind."""


@dataclass(frozen=True)
class Look:
    """The operator and its namespace after some rollouts."""

    rollouts: int
    memory_kib: int
    writes: int
    series: int
    objects: Counter[str]
    """By kind."""
    status_bytes: int


async def look(stage: Stage, operator: int, run: Object) -> Look:
    page = await stage.page("/metrics")
    calls = CALL.findall(page)
    assert calls, page[:2000]
    writes = sum(float(n) for _, what, verb, n in calls if verb in WRITES and what not in ("leases", "events"))
    status = await asyncio.to_thread(Path(f"/proc/{operator}/status").read_text)
    memory = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert memory is not None
    return Look(
        rollouts=run["status"]["rollout"],
        memory_kib=int(memory.group(1)),
        writes=int(writes),
        series=page.count("\n"),
        objects=Counter(name.partition("/")[0] for name in everything(stage)),
        status_bytes=len(str(run["status"])),
    )


def everything(stage: Stage) -> set[str]:
    """Names of all objects of the namespace, of whatever kind the API server knows."""
    listed = stage.server.kubectl("api-resources", "--verbs=list", "--namespaced", "-o", "name")
    assert listed.returncode == 0, listed.stderr
    found = stage.server.kubectl("get", ",".join(listed.stdout.split()), "-n", stage.namespace, "-o", "name")
    assert found.returncode == 0, found.stderr
    return set(found.stdout.split())


@pytest.mark.parametrize("rollouts", [SAMPLE, pytest.param(ALL, marks=pytest.mark.slow)])
async def test_many_rollouts_cost_the_same_each_and_leave_nothing(
    rollouts: int, stage: Stage, api_server: ApiServer, tmp_path: Path
) -> None:
    stage.cluster.world.work_seconds = 0.0
    before = everything(stage)
    looks: list[Look] = []
    with running_controllers(api_server, tmp_path, "garbage-collector-controller"):
        async with stage.operator() as operator:
            await stage.create_run(rollouts=rollouts)
            for mark in range(1, MARKS):
                at = rollouts * mark // MARKS
                run = await stage.until(f"rollout {at}", lambda run, at=at: reached(run, at), rollouts * 4)
                looks.append(await look(stage, operator.pid, run))
            await stage.until("completion", complete, rollouts * 4)
            deleted = stage.server.kubectl("delete", "spaderun", "mini", "-n", stage.namespace)
            assert deleted.returncode == 0, deleted.stderr
            await stage.until_none(Kind.POD, Kind.JOB, Kind.DEPLOYMENT, Kind.BATCH, Kind.ROLLOUT, seconds=60)
            await stage.until_none(Kind.SECRET, Kind.CONFIG_MAP, Kind.SERVICE, Kind.NETWORK_POLICY, seconds=60)
    flat(looks)
    left = {name for name in everything(stage) - before if re.split(r"[./]", name)[0] not in KEPT}
    assert {name for name in left if not name.startswith("lease")} == set()
    assert stage.cluster.world.trained == list(range(1, rollouts + 1)), "each step was taken once"


def reached(run: Object, rollout: int) -> Any:
    return run if run.get("status", {}).get("rollout", 0) >= rollout else None


def flat(looks: Sequence[Look]) -> None:
    """Nothing grows with the number of rollouts."""
    told = "\n".join(map(str, looks))
    first, last = looks[1], looks[-1]
    assert last.memory_kib - first.memory_kib < MEMORY_GROWTH_KIB, told
    assert last.series - first.series < 20, told
    half = len(looks) // 2
    early, late = (_writes_each(part) for part in (looks[: half + 1], looks[half:]))
    assert late < 1.25 * early, told
    for kind in set().union(*(one.objects for one in looks)):
        most = [max(one.objects[kind] for one in part) for part in (looks[:half], looks[half:])]
        assert most[1] <= most[0] + 2, f"{kind}: {most}\n{told}"
    assert max(one.status_bytes for one in looks) < 8 * 1024, told


def _writes_each(looks: Sequence[Look]) -> float:
    """Writes for each rollout from the first look to the last."""
    return (looks[-1].writes - looks[0].writes) / (looks[-1].rollouts - looks[0].rollouts)
