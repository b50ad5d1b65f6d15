"""Removing the chart: its hook refuses while a run is at work, else frees every pod, with few rights of its own."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.operator.conftest import ROOT, Stage, condition
from tests.integration.operator.test_disturbances import playing
from tests.integration.operator.test_run_life import complete
from tests.support.accounts import kubeconfig_of, rights_of
from tests.support.audit import calls_of, forbidden, granted, used
from tests.support.helm import one, render_hooks

from spade_operator.kube import NotFound, Object
from spade_operator.records import Kind

ACCOUNT = "spade-uninstall"
HANGS_SECONDS = 300


@dataclass(frozen=True)
class Ended:
    """What came of a removal."""

    code: int | None
    said: str


def hooks(stage: Stage, live_runs: str) -> list[Object]:
    """The chart's hook for an installation that serves this namespace alone."""
    values = {"watchNamespace": stage.namespace, "uninstall": {"liveRuns": live_runs}}
    return render_hooks(values, namespace=stage.namespace)


async def remove(stage: Stage, folder: Path, live_runs: str) -> Ended:
    """Do what the hook's Job does, as its service account."""
    rendered = hooks(stage, live_runs)
    applied = await asyncio.to_thread(stage.server.kubectl, "apply", "-f", "-", stdin=rights_of(rendered))
    assert applied.returncode == 0, applied.stderr
    kubeconfig = kubeconfig_of(stage.server, stage.namespace, ACCOUNT, folder / "kubeconfig-of-hook")
    (container,) = one(rendered, "Job")["spec"]["template"]["spec"]["containers"]
    assert container["command"][0] == "python"
    process = await asyncio.create_subprocess_exec(
        sys.executable, *container["command"][1:], *container["args"],
        env=stage.environment(KUBECONFIG=str(kubeconfig)), stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT, cwd=ROOT,
    )  # fmt: skip
    async with asyncio.timeout(HANGS_SECONDS):
        output, _ = await process.communicate()
    return Ended(process.returncode, output.decode())


async def is_there(stage: Stage, kind: Kind, name: str) -> bool:
    try:
        await stage.kube.get(kind, stage.namespace, name)
    except NotFound:
        return False
    return True


async def test_chart_stays_while_a_run_is_at_work_and_goes_when_it_was_told_to_delete_it(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.create_run("first", rollouts=1)
    async with stage.operator():
        await stage.until("completion", complete, name="first")
        stage.cluster.world.hold_play = True
        await stage.create_run()
        await stage.until("a worker", lambda run: playing(run) and stage.cluster.of_role("worker"))

        refused = await remove(stage, tmp_path, "Refuse")
        assert refused.code == 1, refused.said
        assert f"1 of its objects have not ended:\n  SpadeRun {stage.namespace}/mini (Playing)\n" in refused.said
        assert refused.said.rstrip().endswith(f"helm rollback spade 1 --namespace {stage.namespace}")
        assert await is_there(stage, Kind.RUN, "mini")
        assert await is_there(stage, Kind.RUN, "first"), "a refusal changes nothing"
        assert condition(await stage.run(), "Progressing")[0] == "True"

        done = await remove(stage, tmp_path, "Delete")
        assert done.code == 0, done.said
        assert not await stage.items(Kind.RUN)
        assert not await stage.items(Kind.POD)
        assert {claim["metadata"]["name"] for claim in await stage.items(Kind.CLAIM)} == {
            "first-storage", "mini-storage",
        }  # fmt: skip
    calls = calls_of(stage.server.audit_log, f"{stage.namespace}:{ACCOUNT}")
    rights = granted(hooks(stage, "Delete"))
    assert forbidden(calls) == []
    assert used(calls) <= rights


async def test_what_has_ended_goes_with_the_chart_and_uses_every_right_of_the_hook(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.create_run(rollouts=1)
    await stage.create_pool()
    async with stage.operator():
        await stage.until("completion", complete)
        await stage.until("the pool's end", complete, name="pool", kind=Kind.BATCH)
        done = await remove(stage, tmp_path, "Refuse")
        assert done.code == 0, done.said
        assert not await is_there(stage, Kind.RUN, "mini")
        assert not await is_there(stage, Kind.BATCH, "pool")
    calls = calls_of(stage.server.audit_log, f"{stage.namespace}:{ACCOUNT}")
    assert forbidden(calls) == []
    assert used(calls) == granted(hooks(stage, "Refuse"))


@pytest.mark.parametrize("live_runs", ["Refuse", "Delete"])
async def test_chart_without_runs_goes_without_its_operator(stage: Stage, tmp_path: Path, live_runs: str) -> None:
    assert (await remove(stage, tmp_path, live_runs)).code == 0
