"""A front on free ports, and in place of vLLM a server that answers as field-rl.md D1 says vLLM does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestClient, TestServer

from spade_contracts.manifests import PolicyManifest
from spade_contracts.statuses import EngineState
from spade_contracts.tokens import token_digest
from spade_trainer.engine import upstream
from spade_trainer.engine.checks import Limits
from spade_trainer.engine.engine import Deadlines, Engine, Sleep
from spade_trainer.engine.figures import Figures, new_figures
from spade_trainer.engine.front import control_app, data_app, open_app
from spade_trainer.engine.life import Life
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store, open_store

DATA_TOKEN = "data"
CONTROL_TOKEN = "control"
STOP = 7
LIMITS = Limits(vocabulary=100, max_tokens=16, stop_token_ids=(STOP,))
SHA256 = "ab" * 32


@dataclass
class FakeVllm:
    """vLLM's routes, with switches for what may go wrong."""

    calls: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    version: str = "default"
    spans: list[dict[str, Any]] | None = None
    finish_reason: str = "stop"
    log_prob: float = -0.5
    sha256: str = SHA256
    cache_is_free: bool = True
    wakes: bool = True
    broken: set[str] = field(default_factory=set)
    """Paths that answer 500."""
    release: asyncio.Event = field(default_factory=asyncio.Event)
    """Generation waits for it."""
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while a generation waits."""
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a caller left before its answer."""

    def app(self) -> web.Application:
        """The server."""
        app = web.Application(middlewares=[self._record])
        app.add_routes(
            [
                web.get("/health", self._empty),
                web.get("/metrics", self._metrics),
                web.post("/inference/v1/generate", self._generate),
                web.post("/pause", self._pause),
                web.post("/resume", self._empty),
                web.post("/sleep", self._sleep),
                web.post("/wake_up", self._wake),
                web.post("/reset_prefix_cache", self._reset),
                web.post("/update_weight_version", self._label),
                web.post("/collective_rpc", self._rpc),
            ]
        )
        return app

    @web.middleware
    async def _record(self, request: web.Request, handler: Callable[..., Any]) -> web.StreamResponse:
        self.calls.append(request.path)
        if request.path in self.broken:
            return web.json_response({"error": "broken"}, status=500)
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _empty(self, _: web.Request) -> web.Response:
        return web.json_response({})

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(text='vllm:num_requests_running{model_name="policy"} 3.0\npython_info 1.0\n')

    async def _pause(self, request: web.Request) -> web.Response:
        assert request.query["mode"] == "abort"
        if self.waiting.is_set() and not self.release.is_set():
            self.finish_reason = "abort"
            self.release.set()
        return web.json_response({"status": "paused"})

    async def _sleep(self, request: web.Request) -> web.Response:
        assert dict(request.query) == {"level": "1", "mode": "abort"}
        return web.json_response({"status": "sleeping", "level": 1})

    async def _wake(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "awake" if self.wakes else "sleeping", "tags": None})

    async def _reset(self, _: web.Request) -> web.Response:
        return web.json_response({"success": self.cache_is_free})

    async def _label(self, request: web.Request) -> web.Response:
        self.version = (await request.json())["new_version"]
        return web.json_response({"success": True})

    async def _rpc(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        loaded = {"sha256": self.sha256, "tensors": 3, "read_back": 1}
        moved = {"tensor": "model.norm.weight", "sum": body["kwargs"].get("factor", 0) * 64.0}
        return web.json_response({"results": [loaded if body["method"] == "spade_load_policy" else moved]})

    async def _generate(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        try:
            self.waiting.set()
            await self.release.wait()
        except asyncio.CancelledError:
            self.hung_up.set()
            raise
        finally:
            self.waiting.clear()
        tokens = [11, 12, STOP]
        choice = {
            "finish_reason": self.finish_reason,
            "token_ids": tokens,
            "weight_versions": self.spans or [{"version": self.version, "start": 0, "end": len(tokens)}],
            "logprobs": {"content": [{"token_id": token, "logprob": self.log_prob} for token in tokens]},
        }
        scores = [None] + [{str(token): {"logprob": -token / 100}} for token in body["token_ids"][1:]]
        return web.json_response({"choices": [choice], "prompt_logprobs": scores})


@dataclass(frozen=True)
class Front:
    """Our three servers and what is behind them."""

    engine: Engine
    figures: Figures
    store: Store
    vllm: FakeVllm
    updating: asyncio.Event
    """Set once weights are about to be touched, or the engine is about to sleep."""
    data: TestClient[web.Request, web.Application]
    control: TestClient[web.Request, web.Application]
    open: TestClient[web.Request, web.Application]

    async def generate(self, **changes: Any) -> tuple[int, dict[str, Any]]:
        """A worker's request: status and body."""
        body = {"token_ids": [1, 2], "temperature": 0.6, "max_new_tokens": 5, "seed": 3, "policy_version": 0, **changes}
        return await post(self.data, "/generate", body, DATA_TOKEN)

    async def load(self, version: int) -> tuple[int, dict[str, Any]]:
        """The learner hands over a policy."""
        uri = f"{self.store.uri}/{layout.policy_folder(version)}"
        return await post(self.control, "/load", {"policy_version": version, "uri": uri}, CONTROL_TOKEN)

    async def admit(self, version: int, **changes: Any) -> tuple[int, dict[str, Any]]:
        """The learner's verdict."""
        body = {"boot_id": self.engine.boot_id, "policy_version": version, "canary_passed": True, **changes}
        return await post(self.control, "/admit", body, CONTROL_TOKEN)


async def post(
    client: TestClient[web.Request, web.Application], path: str, body: Any, token: str
) -> tuple[int, dict[str, Any]]:
    """Status and JSON body of an answer."""
    async with client.post(path, json=body, headers={"Authorization": f"Bearer {token}"}) as answer:
        return answer.status, await answer.json()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Run storage with manifests of policies 0 and 1; the files are the real vLLM's business."""
    opened = open_store(f"file://{tmp_path}")
    for version in (0, 1):
        manifest = PolicyManifest(policy_version=version, files={}, tensors=3, tensors_sha256=SHA256, parameters=9)
        manifests.write(opened, manifests.policy_path(version), manifest)
    return opened


@pytest.fixture
async def starting(store: Store, tmp_path: Path) -> AsyncIterator[Front]:
    """A front whose vLLM has not been seen to answer yet."""
    vllm = FakeVllm()
    vllm.release.set()
    runner = web.AppRunner(vllm.app(), handler_cancellation=True)
    await runner.setup()
    socket = tmp_path / "vllm.sock"
    await web.UnixSite(runner, str(socket)).start()
    session: ClientSession = upstream.connect(socket)
    figures = new_figures()
    updating = asyncio.Event()

    def changed(life: Life) -> None:
        figures.life_changed(life)
        if life.state in (EngineState.UPDATING, EngineState.ASLEEP):
            updating.set()

    deadlines = Deadlines(generate_seconds=5, load_seconds=5, score_seconds=5, call_seconds=5, drain_seconds=0.2)
    engine = Engine(
        boot_id="boot-1",
        session=session,
        store=store,
        limits=LIMITS,
        deadlines=deadlines,
        on_change=changed,
        sleep=Sleep.PAUSES,
    )
    apps = (
        data_app(engine, figures, token_digest(DATA_TOKEN)),
        control_app(engine, token_digest(CONTROL_TOKEN)),
        open_app(engine, figures, lambda: upstream.metrics(session, seconds=5)),
    )
    servers = [TestServer(app) for app in apps]
    for server in servers:
        await server.start_server()
    data, control, status = (TestClient(server) for server in servers)
    yield Front(engine, figures, store, vllm, updating, data, control, status)
    for client in (data, control, status):
        await client.close()
    await session.close()
    await runner.cleanup()


@pytest.fixture
async def front(starting: Front) -> Front:
    """A front that serves policy 0."""
    await starting.engine.booted(0)
    await starting.admit(0)
    starting.vllm.calls.clear()
    return starting
