"""An engine in this process: the real messages, transformers for vLLM, and ways to go wrong."""

import asyncio
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from aiohttp import web
from transformers import Qwen3MoeForCausalLM

from spade_contracts.engine_api import (
    AdmitRequest,
    CanaryReport,
    CanaryRequest,
    EngineErrorBody,
    LoadReport,
    LoadRequest,
    ScoreRequest,
    ScoreResponse,
)
from spade_contracts.statuses import EngineState, EngineStatus
from spade_trainer.store.policies import describe

LOADING = threading.Lock()
"""`from_pretrained` changes torch's default dtype while it works; two at once would leave the wrong one behind."""


class EngineDouble:
    """One engine process. `restart` makes it a new one, as a container that was restarted in place."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.ignores_loads = False
        self.ignores_canary = False
        self.loads: list[int] = []
        self.restart()

    def restart(self) -> None:
        """A new boot: nothing loaded or proven."""
        self.boot_id = uuid.uuid4().hex
        self.loaded: int | None = None
        self.verified: int | None = None
        self.canary_passed = False
        self.model: Any = None
        self.norm: Any = None

    async def status(self, _: web.Request) -> web.Response:
        return answer(
            EngineStatus(
                boot_id=self.boot_id,
                state=EngineState.SERVING if self.verified is not None else EngineState.UNVERIFIED,
                loaded_policy_version=self.loaded,
                verified_policy_version=self.verified,
                canary_passed=self.canary_passed,
                requests_in_flight=0,
                generated_tokens=0,
            )
        )

    async def load(self, request: web.Request) -> web.Response:
        wanted = LoadRequest.model_validate_json(await request.read())
        folder = Path(wanted.uri.removeprefix("file://"))
        manifest = describe(folder, wanted.policy_version)
        self.loads.append(wanted.policy_version)
        if self.model is None or not self.ignores_loads:
            with LOADING:
                self.model = Qwen3MoeForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
            self.norm = self.model.model.norm.weight.detach().clone()
        self.loaded, self.verified = wanted.policy_version, None
        return answer(
            LoadReport(
                boot_id=self.boot_id,
                policy_version=wanted.policy_version,
                tensors_sha256=manifest.tensors_sha256,
                tensors=manifest.tensors,
                seconds=0.0,
            )
        )

    async def score(self, request: web.Request) -> web.Response:
        tokens = torch.tensor([ScoreRequest.model_validate_json(await request.read()).token_ids])
        with torch.no_grad():
            logits = self.model(tokens).logits.float()[0, :-1]
        found = torch.log_softmax(logits, -1).gather(-1, tokens[0, 1:, None])[:, 0]
        assert self.loaded is not None
        return answer(
            ScoreResponse(boot_id=self.boot_id, loaded_policy_version=self.loaded, log_probs=tuple(found.tolist()))
        )

    async def canary(self, request: web.Request) -> web.Response:
        factor = CanaryRequest.model_validate_json(await request.read()).factor
        if not self.ignores_canary:
            with torch.no_grad():
                self.model.model.norm.weight.copy_((self.norm.float() * factor).to(self.norm.dtype))
        self.verified = None
        return answer(CanaryReport(boot_id=self.boot_id, tensor="model.norm.weight", sum=0.0))

    async def admit(self, request: web.Request) -> web.Response:
        verdict = AdmitRequest.model_validate_json(await request.read())
        if (verdict.boot_id, verdict.policy_version) != (self.boot_id, self.loaded):
            return answer(EngineErrorBody(error="bad_request", message="another boot or version"), status=400)
        self.verified, self.canary_passed = verdict.policy_version, True
        return await self.status(request)

    def apps(self) -> tuple[web.Application, web.Application]:
        """The control port and the status port."""

        @web.middleware
        async def closed(request: web.Request, handler: Any) -> web.StreamResponse:
            if request.headers.get("Authorization") != f"Bearer {self.token}":
                return answer(EngineErrorBody(error="unauthorized", message="no"), status=401)
            return await handler(request)

        control, status = web.Application(middlewares=[closed]), web.Application()
        for name in ("load", "score", "canary", "admit"):
            control.router.add_post(f"/{name}", getattr(self, name))
        status.router.add_get("/status", self.status)
        return control, status


def answer(model: Any, status: int = 200) -> web.Response:
    return web.Response(body=model.model_dump_json().encode(), status=status, content_type="application/json")


@contextmanager
def serving(engine: EngineDouble, host: str, control_port: int, status_port: int) -> Iterator[EngineDouble]:
    """Serve an engine from a thread of its own."""
    opened, loop = threading.Event(), asyncio.new_event_loop()

    async def serve() -> None:
        for app, port in zip(engine.apps(), (control_port, status_port), strict=True):
            runner = web.AppRunner(app)
            await runner.setup()
            await web.TCPSite(runner, host, port).start()
        opened.set()

    def run() -> None:
        loop.run_until_complete(serve())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert opened.wait(30)
    try:
        yield engine
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
