"""The three servers in front of vLLM: generation for workers, weights for the learner, and what everyone may see.

Bodies are the models of `spade_contracts.engine_api`; every refusal is an EngineErrorBody.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from spade_contracts.engine_api import (
    AdmitRequest,
    CanaryRequest,
    GenerateRequest,
    GenerateResponse,
    LoadRequest,
    ScoreRequest,
)
from spade_contracts.statuses import EngineState
from spade_contracts.tokens import token_matches
from spade_trainer.engine.engine import Engine
from spade_trainer.engine.figures import SERVED, Figures, exposition
from spade_trainer.engine.refusals import Code, Refused

MAX_BODY_BYTES = 4 * 2**20
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Q = TypeVar("Q", bound=BaseModel)
log = logging.getLogger(__name__)


def data_app(engine: Engine, figures: Figures, token_sha256: str) -> web.Application:
    """`POST /generate`, behind the data token."""

    async def generate(request: web.Request) -> web.Response:
        answer: GenerateResponse = await engine.generate(await _body(request, GenerateRequest))
        figures.request_ended(SERVED, len(answer.token_ids))
        return _json(answer)

    app = _closed(token_sha256, figures.request_ended)
    app.add_routes([web.post("/generate", generate)])
    return app


def control_app(engine: Engine, token_sha256: str) -> web.Application:
    """`POST /load`, `/score`, `/canary`, `/admit`, `/sleep` and `/wake`, behind the control token."""

    async def sleep(_: web.Request) -> web.Response:
        return _json(await engine.sleep())

    async def wake(_: web.Request) -> web.Response:
        return _json(await engine.wake())

    app = _closed(token_sha256)
    app.add_routes(
        [
            web.post("/load", _operation(LoadRequest, engine.load)),
            web.post("/score", _operation(ScoreRequest, engine.score)),
            web.post("/canary", _operation(CanaryRequest, engine.canary)),
            web.post("/admit", _operation(AdmitRequest, engine.admit)),
            web.post("/sleep", sleep),
            web.post("/wake", wake),
        ]
    )
    return app


def open_app(engine: Engine, figures: Figures, vllm_metrics: Callable[[], Awaitable[str]]) -> web.Application:
    """`GET /status`, `/healthz`, `/ready` and `/metrics`, for everyone the network lets through."""

    async def status(_: web.Request) -> web.Response:
        return _json(engine.status())

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="alive\n")

    async def ready(_: web.Request) -> web.Response:
        serving = engine.life.state is EngineState.SERVING
        return web.Response(text=f"{engine.life.state}\n", status=200 if serving else 503)

    async def metrics(_: web.Request) -> web.Response:
        text = exposition(figures, await vllm_metrics())
        return web.Response(body=text.encode(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.add_routes(
        [
            web.get("/status", status),
            web.get("/healthz", healthz),
            web.get("/ready", ready),
            web.get("/metrics", metrics),
        ]
    )
    return app


def _closed(token_sha256: str, on_refusal: Callable[[str], None] = lambda code: None) -> web.Application:
    """An application that answers nothing without its token, and every refusal with its typed body."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
        try:
            if scheme != "Bearer" or not presented.isascii() or not token_matches(presented, token_sha256):
                raise Refused(Code.UNAUTHORIZED, "this port wants its bearer token")
            return await handler(request)
        except Refused as refusal:
            on_refusal(refusal.code)
            if refusal.code is Code.FAILED:
                log.error("%s: %s", request.path, refusal)
            return _json(refusal.body(), status=refusal.status)

    return web.Application(middlewares=[check], client_max_size=MAX_BODY_BYTES)


def _operation(model: type[Q], operation: Callable[[Q], Awaitable[BaseModel]]) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        return _json(await operation(await _body(request, model)))

    return handle


async def _body(request: web.Request, model: type[Q]) -> Q:
    """The request's body as a model. Raises Refused if it is too large or is none."""
    try:
        return model.model_validate_json(await request.read())
    except web.HTTPRequestEntityTooLarge as error:
        raise Refused(Code.TOO_LONG, f"the body has more than {MAX_BODY_BYTES} bytes") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        raise Refused(Code.BAD_REQUEST, f"{where}: {first['msg']}") from error


def _json(model: BaseModel, status: int = 200) -> web.Response:
    return web.Response(body=model.model_dump_json().encode(), status=status, content_type="application/json")
