"""Rollout after rollout costs the same: the operator's memory, its calls and what is left in the namespace stay flat.

The API server, the garbage collector and the operator are real; engine, learner and workers are scripted and take no
time of their own.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tests.integration.operator.conftest import Stage
from tests.integration.operator.test_run_life import complete, reached
from tests.support.api_server import ApiServer
from tests.support.controllers import running_controllers

from spade_operator.kube import Object
from spade_operator.records import Kind

SAMPLE, ALL = (1, 30), (8, 250)
"""Runs beside each other, and rollouts of each."""
MARKS = 10
"""Looks, the first after one of so many equal parts."""
SECONDS_EACH = 16
"""For one rollout of each run: a bound against hanging."""
MEMORY_GROWTH_KIB = 8 * 1024
"""Between the second look and the last: the allocator's, and what is remembered of deleted objects up to a bound."""
WRITES = ("create", "apply", "patch", "update", "delete")
CALL = re.compile(r'^spade_api_requests_total{code="(\w+)",resource="([\w./-]+)",verb="(\w+)"} (\S+)$', re.MULTILINE)
IN_MOTION = 3
"""Objects of a kind that a run has at one moment and not at another."""
KEPT = frozenset({"persistentvolumeclaim", "event", "lease"})
"""What a deleted run leaves behind, or its operator."""


@dataclass(frozen=True)
class Look:
    """The operator and its namespace after some rollouts."""

    rollouts: int
    """Of all runs."""
    memory_kib: int
    writes: int
    series: int
    objects: Counter[str]
    """By kind."""
    status_bytes: int


async def look(stage: Stage, operator: int, runs: Sequence[Object]) -> Look:
    page = await stage.page("/metrics")
    calls = CALL.findall(page)
    assert calls, page[:2000]
    writes = sum(float(n) for _, what, verb, n in calls if verb in WRITES and what not in ("leases", "events"))
    status = await asyncio.to_thread(Path(f"/proc/{operator}/status").read_text)
    memory = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert memory is not None
    return Look(
        rollouts=sum(run["status"]["rollout"] for run in runs),
        memory_kib=int(memory.group(1)),
        writes=int(writes),
        series=page.count("\n"),
        objects=Counter(name.partition("/")[0] for name in everything(stage)),
        status_bytes=max(len(json.dumps(run["status"])) for run in runs),
    )


def everything(stage: Stage) -> set[str]:
    """Names of all objects of the namespace, of whatever kind the API server knows."""
    listed = stage.server.kubectl("api-resources", "--verbs=list", "--namespaced", "-o", "name")
    assert listed.returncode == 0, listed.stderr
    found = stage.server.kubectl("get", ",".join(listed.stdout.split()), "-n", stage.namespace, "-o", "name")
    assert found.returncode == 0, found.stderr
    return set(found.stdout.split())


@pytest.mark.parametrize(
    ("runs", "rollouts"),
    [SAMPLE, pytest.param(*ALL, marks=[pytest.mark.slow, pytest.mark.timeout(ALL[1] * SECONDS_EACH)])],
)
async def test_many_rollouts_cost_the_same_each_and_leave_nothing(
    runs: int, rollouts: int, stage: Stage, api_server: ApiServer, tmp_path: Path
) -> None:
    stage.cluster.world.work_seconds = 0.0
    before, names, seconds = everything(stage), [f"run-{n}" for n in range(runs)], rollouts * SECONDS_EACH
    looks: list[Look] = []
    with running_controllers(api_server, tmp_path, "garbage-collector-controller"):
        async with stage.operator() as operator:
            for name in names:
                await stage.create_run(name, rollouts=rollouts)
            for mark in range(1, MARKS):
                at = rollouts * mark // MARKS
                found = [await stage.until(f"rollout {at}", partial(reached, at), seconds, name) for name in names]
                looks.append(await look(stage, operator.pid, found))
            for name in names:
                await stage.until("completion", complete, seconds, name)
            deleted = stage.server.kubectl("delete", "spaderuns", *names, "-n", stage.namespace)
            assert deleted.returncode == 0, deleted.stderr
            await stage.until_none(Kind.POD, Kind.JOB, Kind.DEPLOYMENT, Kind.BATCH, Kind.ROLLOUT, seconds=240)
            await stage.until_none(Kind.SECRET, Kind.CONFIG_MAP, Kind.SERVICE, Kind.NETWORK_POLICY, seconds=240)
    flat(looks, runs)
    left = {name for name in everything(stage) - before if re.split(r"[./]", name)[0] not in KEPT}
    assert left == set()
    assert Counter(stage.cluster.world.played) == dict.fromkeys(range(rollouts), runs), "each was played once"


def flat(looks: Sequence[Look], runs: int) -> None:
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
        assert most[1] <= most[0] + IN_MOTION * runs, f"{kind}: {most}\n{told}"
    assert max(one.status_bytes for one in looks) < 8 * 1024, told


def _writes_each(looks: Sequence[Look]) -> float:
    """Writes for each rollout from the first look to the last."""
    return (looks[-1].writes - looks[0].writes) / (looks[-1].rollouts - looks[0].rollouts)
