"""Every answer of an engine is a typed message or a typed fault, in time."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from spade_contracts.engine_api import EngineErrorBody, ScoreResponse
from spade_trainer.weights.engine_client import Deadlines, EngineClient, EngineFault

ANSWER = ScoreResponse(boot_id="boot-1", loaded_policy_version=1, log_probs=(-1.0,))


async def score(request: web.Request) -> web.Response:
    """Answers by what is asked: token 1 well, 2 with a refusal, 3 with nonsense, 4 never."""
    assert request.headers["Authorization"] == "Bearer token"
    wanted = (await request.json())["token_ids"][0]
    if wanted == 1:
        return web.json_response(text=ANSWER.model_dump_json())
    if wanted == 2:
        return web.json_response(text=EngineErrorBody(error="updating", message="wait").model_dump_json(), status=503)
    if wanted == 3:
        return web.Response(text="<html>", status=502)
    await asyncio.sleep(60)
    raise AssertionError("nobody waits that long")


@pytest.fixture
async def client() -> AsyncIterator[EngineClient]:
    app = web.Application()
    app.router.add_post("/score", score)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        assert server.port is not None
        yield EngineClient(session, "127.0.0.1", "token", Deadlines(0.2, 0.2, 0.2), control_port=server.port)


async def test_an_answer_is_read(client: EngineClient) -> None:
    assert await client.score((1, 9)) == ANSWER


@pytest.mark.parametrize(("token", "code"), [(2, "updating"), (3, "unreadable"), (4, "unreachable")])
async def test_all_else_is_a_fault_with_a_code(client: EngineClient, token: int, code: str) -> None:
    with pytest.raises(EngineFault) as fault:
        await client.score((token, 9))
    assert fault.value.code == code
    assert not fault.value.permanent


async def test_an_engine_that_is_not_there_is_unreachable() -> None:
    async with aiohttp.ClientSession() as session:
        gone: Any = EngineClient(session, "127.0.0.1", "token", control_port=1, status_port=1)
        with pytest.raises(EngineFault) as fault:
            await gone.status()
    assert fault.value.code == "unreachable"
