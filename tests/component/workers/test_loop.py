"""Workers do a whole run on a folder, and whatever kills them, the results are the same byte for byte."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.component.workers.runs import (
    SmallRun,
    Worker,
    designed,
    finished,
    played,
    prepared,
    results,
    settings,
    small_run,
    start,
    start_all,
    trained,
)
from tests.component.workers.scripted_engine import ScriptedEngine, serving
from tests.support.sandbox_pods import RunningPod, pod_in_namespaces

from spade_contracts.engine_api import GenerateRequest
from spade_contracts.statuses import PlaySummary, WorkerStatus
from spade_contracts.tasks import JUDGE_KEY
from spade_contracts.verdicts import Stage, accepted
from spade_sandbox.verify.canaries import Canary, Sighting
from spade_trainer.chat import load_chat
from spade_trainer.store import layout, manifests
from spade_trainer.store.canaries import write_sightings
from spade_trainer.store.episodes import read_episodes
from spade_trainer.store.objects import open_store
from spade_trainer.workers.model_source import resolve_model

ROLLOUTS = 4


@pytest.fixture(scope="module")
def pod() -> Iterator[RunningPod]:
    with pod_in_namespaces() as running:
        running.tried()
        yield running


@asynccontextmanager
async def new_run(folder: Path, pod: RunningPod, seed: int = 0) -> AsyncIterator[tuple[SmallRun, ScriptedEngine]]:
    """A fresh run and its engine, which answers in an order that depends on the seed."""
    run = small_run(folder, "", pod.target)
    rng = random.Random(seed)
    engine = ScriptedEngine(load_chat(resolve_model("package:tiny")))
    engine.delay = lambda request: asyncio.sleep(rng.random() / 50)
    async with serving(engine) as address:
        yield replace(run, engine=address), engine


async def whole_run(run: SmallRun, engine: ScriptedEngine) -> list[PlaySummary]:
    """Every task of the run, in order."""
    assert (await prepared(run)).accepted
    summaries = []
    for rollout in range(ROLLOUTS):
        engine.policy_version = rollout
        if rollout % 2 == 0:
            await designed(run, rollout // 2)
        summaries.append(await played(run, rollout))
        trained(run, rollout, last=rollout == ROLLOUTS - 1)
    return summaries


@pytest.fixture(scope="module")
def undisturbed(pod: RunningPod, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The results of a run that nothing disturbs."""

    async def go() -> dict[str, bytes]:
        async with new_run(tmp_path_factory.mktemp("run") / "one", pod) as (run, engine):
            summaries = await whole_run(run, engine)
            check_run(run, summaries)
            return results(run)

    return asyncio.run(go())


def check_run(run: SmallRun, summaries: list[PlaySummary]) -> None:
    """What must hold of any finished run."""
    store = open_store(run.run.storage_uri)
    for rollout, summary in enumerate(summaries):
        manifest = manifests.read_rollout(store, rollout)
        hinted = sum(len(entry.hinted) for entry in manifest.environments)
        assert summary.planned == sum(summary.outcomes.values()) == manifest.planned
        assert (hinted > 0) == (rollout % 2 == 0)
        assert summary.learnable_fraction is not None
        assert summary.tokens > 0
    steps = [manifests.find_step(store, rollout) for rollout in range(ROLLOUTS)]
    assert [step.designer_cycles for step in steps if step] == [(), (), (0,), (1,)]
    batches = [manifests.read_batch(store, cycle) for cycle in (0, 1)]
    assert all(batch.environments for batch in batches)
    assert [batch.canaries for batch in batches] == [{"bad": 2, "good": 2}] * 2
    assert any(batch.rejected for batch in batches)


def test_a_run_of_two_cycles_finishes(undisturbed: dict[str, bytes]) -> None:
    units = [f"cycles/{c:04d}/batch.json" for c in range(2)]
    units += [f"rollouts/{r:04d}/rollout.json" for r in range(ROLLOUTS)]
    units += [f"steps/{r:04d}/step.json" for r in range(ROLLOUTS)]
    assert sorted(undisturbed) == sorted(units)


async def test_another_order_of_answers_changes_nothing(
    undisturbed: dict[str, bytes], pod: RunningPod, tmp_path: Path
) -> None:
    async with new_run(tmp_path / "run", pod, seed=1) as (run, engine):
        await whole_run(run, engine)
        assert results(run) == undisturbed


async def test_workers_killed_in_the_middle_leave_no_trace_in_the_results(
    undisturbed: dict[str, bytes], pod: RunningPod, tmp_path: Path
) -> None:
    async with new_run(tmp_path / "run", pod, seed=2) as (run, engine):
        assert (await prepared(run)).accepted
        for rollout in range(ROLLOUTS):
            engine.policy_version = rollout
            if rollout % 2 == 0:
                await killed_after(run, engine, await start_all(run, run.design_task(rollout // 2)), answers=3)
                await designed(run, rollout // 2)
            await killed_after(run, engine, await start_all(run, run.play_task(rollout)), answers=12)
            assert not (run.storage / manifests.rollout_path(rollout)).exists()
            await played(run, rollout)
            trained(run, rollout, last=rollout == ROLLOUTS - 1)
        assert results(run) == undisturbed


async def test_runs_own_judge_is_asked_with_its_key_and_must_say_yes(
    pod: RunningPod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str | None, str]] = []

    async def evade(request: web.Request) -> web.Response:
        asked.append((request.headers.get("Authorization"), (await request.json())["model"]))
        message = {"content": "It looks nice."}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}]})

    application = web.Application()
    application.router.add_post("/v1/chat/completions", evade)
    monkeypatch.setenv(JUDGE_KEY, "a key")
    async with TestServer(application) as server, new_run(tmp_path / "run", pod) as (run, _):
        judge = {"url": str(server.make_url("/v1")), "model": "a-judge"}
        method = settings(stages=["Judge"], judge=judge)
        assert (await prepared(run, method=method)).accepted
        summary = await designed(run, 0)
    assert set(asked) == {("Bearer a key", "a-judge")}
    assert summary.accepted == 0
    assert summary.rejected["judge/judge_unavailable"] > 0


async def killed_after(run: SmallRun, engine: ScriptedEngine, workers: list[Worker], answers: int) -> None:
    """Let the engine give so many answers, then hold all others back, and kill the workers while they wait."""
    before, free = engine.delay, engine.served + answers
    waiting = asyncio.Event()

    async def hold(request: GenerateRequest) -> None:
        if engine.served >= free:
            waiting.set()
            await asyncio.Event().wait()
        await before(request)

    engine.delay = hold
    async with asyncio.timeout(120):
        await waiting.wait()
    for worker in workers:
        await worker.kill()
    engine.delay = before


async def test_only_the_missing_part_is_done_again(pod: RunningPod, tmp_path: Path) -> None:
    async with new_run(tmp_path / "run", pod) as (run, engine):
        assert (await prepared(run)).accepted
        await designed(run, 0)
        await finished([await start(run, run.play_task(0), index=1)])
        first = {request.seed for request in engine.requests}
        parts = sorted(path.name for path in (run.storage / "rollouts/0000").glob("*.parquet"))
        assert parts == ["episodes-s001-a00.parquet"]
        engine.requests.clear()
        await played(run, 0)
        assert engine.requests
        assert not first & {request.seed for request in engine.requests}


async def test_a_finished_task_is_not_done_again(pod: RunningPod, tmp_path: Path) -> None:
    async with new_run(tmp_path / "run", pod) as (run, engine):
        assert (await prepared(run)).accepted
        summaries = [(await designed(run, 0)), (await played(run, 0))]
        before = results(run)
        engine.requests.clear()
        again = [(await designed(run, 0)), (await played(run, 0)), await prepared(run)]
        assert engine.requests == []
        assert results(run) == before
        for one, other in zip(summaries, again, strict=False):
            assert one.model_copy(update={"seconds": 0.0}) == other.model_copy(update={"seconds": 0.0})


async def test_a_worker_waits_for_the_wanted_policy_and_ends_cleanly_on_sigterm(
    pod: RunningPod, tmp_path: Path
) -> None:
    async with new_run(tmp_path / "run", pod) as (run, engine):
        assert (await prepared(run)).accepted
        await designed(run, 0)
        engine.policy_version = 5
        worker = await start(run, run.play_task(0))
        status = await eventually_status(worker, lambda status: status.sessions_open > 0)
        assert (status.stage, status.done, status.error) == ("playing", 0, "")
        assert status.planned > 0
        async with aiohttp.ClientSession() as http:
            metrics = await (await http.get(f"http://127.0.0.1:{worker.status_port}/metrics")).text()
        assert 'spade_sandbox_sessions{state="open"}' in metrics
        assert 'spade_worker_episodes_total{hinted="false",outcome="scored"} 0.0' in metrics
        worker.process.terminate()
        assert await worker.ended() == 1
        assert PlaySummary.model_validate_json(worker.message.read_bytes()).error
        assert list((run.storage / "rollouts/0000").glob("*.tmp")) == []


async def test_a_false_accept_admits_nothing_until_a_later_attempt_finds_the_gate_sound(
    pod: RunningPod, tmp_path: Path
) -> None:
    async with new_run(tmp_path / "run", pod) as (run, engine):
        assert (await prepared(run)).accepted
        store = open_store(run.run.storage_uri)
        bad = Canary("crooked", Stage.ORDER, "")
        write_sightings(store, layout.cycle_folder(0), 0, [Sighting(bad, "class CrookedEnv: ...", accepted())])
        summary = await designed(run, 0)
        assert (summary.accepted, summary.let_through) == (0, ("crooked",))
        assert summary.canaries == {"bad": 1, "false_accepts/order": 1}
        assert engine.requests == [], "no work is done for a cycle that nothing is admitted of"
        assert not (run.storage / manifests.batch_path(0)).exists()
        later = await start_all(run, run.design_task(0, attempt=1))
        await finished(later)
        batch = manifests.read_batch(store, 0)
        assert batch.environments
        assert batch.canaries == {"bad": 2, "good": 2}


async def eventually_status(worker: Worker, wanted: object) -> WorkerStatus:
    """The worker's status once it is as wanted."""
    async with asyncio.timeout(60), aiohttp.ClientSession() as http:
        while True:
            try:
                async with http.get(f"http://127.0.0.1:{worker.status_port}/status") as reply:
                    status = WorkerStatus.model_validate_json(await reply.read())
                if wanted(status):  # type: ignore[operator]
                    return status
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.05)


async def test_an_episode_lost_with_its_sandbox_is_played_again(undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    with pod_in_namespaces() as first, pod_in_namespaces() as second:
        first.tried()
        second.tried()
        async with new_run(tmp_path / "run", second) as (alone, engine):
            run = replace(alone, sandbox=f"{first.target},{second.target}")
            assert (await prepared(run)).accepted
            await designed(run, 0)
            engine.served = 0

            lost: list[RunningPod] = []

            async def lose_a_pod(request: GenerateRequest) -> None:
                # One that holds sessions: where they are placed is the client's choice.
                if lost or engine.served < 10:
                    return
                for pod in [pod for pod in (first, second) if pod.status().sessions][:1]:
                    lost.append(pod)
                    pod.process.kill()

            engine.delay = lose_a_pod
            await played(run, 0)
            assert len(lost) == 1
            found = results(run)
            assert found["rollouts/0000/rollout.json"] == undisturbed["rollouts/0000/rollout.json"]
            store = open_store(run.run.storage_uri)
            episodes = read_episodes(store, manifests.read_rollout(store, 0))
            assert max(episode.attempts for episode in episodes) > 1
