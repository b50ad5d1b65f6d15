"""A request is tried until an engine answers it in full for the wanted policy, and never longer than its patience."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from spade_contracts.engine_api import GenerateRequest
from spade_trainer.play import engine_client
from spade_trainer.play.engine_client import EnginePool, EngineRefused, EngineUnavailable

Answer = Callable[[dict[str, Any]], web.Response | None]


def request(**changes: Any) -> GenerateRequest:
    fields = {"token_ids": (1, 2), "temperature": 1.0, "max_new_tokens": 4, "seed": 5, "policy_version": 3}
    return GenerateRequest(**{**fields, **changes})


def drawn(**changes: Any) -> dict[str, Any]:
    fields = {
        "token_ids": [7, 8],
        "log_probs": [-0.5, -0.1],
        "finish_reason": "stop",
        "spans": [{"policy_version": 3, "tokens": 2}],
        "boot_id": "b",
    }
    return {**fields, **changes}


def good(**changes: Any) -> web.Response:
    return web.json_response(drawn(**changes))


def refusal(status: int, error: str) -> web.Response:
    return web.json_response({"error": error, "message": "as it is"}, status=status)


@asynccontextmanager
async def engine(*answers: web.Response | Callable[[], Any]) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """Gives these answers in turn, the last one for good; yields `host:port` and the requests it got."""
    got: list[web.Request] = []
    left = list(answers)

    async def generate(req: web.Request) -> web.StreamResponse:
        await req.read()
        got.append(req)
        answer = left.pop(0) if len(left) > 1 else left[0]
        if callable(answer):
            return await answer()  # type: ignore[no-any-return]
        return web.Response(status=answer.status, body=answer.body, content_type="application/json")

    app = web.Application()
    app.add_routes([web.post("/generate", generate)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"{host}:{port}", got
    finally:
        await runner.cleanup()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_client, "REST_SECONDS", 0.02)
    monkeypatch.setattr(engine_client, "RESOLVE_SECONDS", 0.0)


async def test_an_answer_comes_back_and_the_token_was_shown() -> None:
    async with engine(good()) as (address, got), EnginePool(address, "secret") as pool:
        answer = await pool.generate(request(), 5)
        assert answer.token_ids == (7, 8)
        assert got[0].headers["Authorization"] == "Bearer secret"
        assert GenerateRequest.model_validate_json(await got[0].read()) == request()
        assert pool.figures.generated_tokens == 2


async def test_an_engine_is_asked_directly_whatever_proxy_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with engine(good()) as (address, got), EnginePool(address, "secret") as pool:
        assert (await pool.generate(request(), 5)).token_ids == (7, 8)
        assert len(got) == 1


@pytest.mark.parametrize(
    "passing",
    [
        refusal(503, "not_serving"),
        refusal(409, "wrong_policy"),
        refusal(503, "updating"),
        refusal(500, "failed"),
        web.Response(status=502, text="bad gateway"),
        web.Response(status=200, text="{}"),
        good(log_probs=[-0.5]),
        good(log_probs=[-0.5, 0.5]),
        good(token_ids=[], log_probs=[], spans=[]),
        good(spans=[{"policy_version": 2, "tokens": 2}]),
        good(spans=[{"policy_version": 3, "tokens": 1}]),
        good(token_ids=[1] * 5, log_probs=[-1.0] * 5, spans=[{"policy_version": 3, "tokens": 5}]),
        web.Response(text=json.dumps(drawn()).replace("-0.5", "NaN")),
    ],
)
async def test_what_is_no_whole_answer_of_the_wanted_policy_is_asked_for_again(passing: web.Response) -> None:
    async with engine(passing, good()) as (address, got), EnginePool(address, "secret") as pool:
        assert (await pool.generate(request(), 5)).token_ids == (7, 8)
        assert (len(got), pool.figures.retries) == (2, 1)


@pytest.mark.parametrize("code", ["unauthorized", "bad_request", "too_long"])
async def test_what_no_engine_will_ever_do_is_not_asked_for_again(code: str) -> None:
    async with engine(refusal(400, code), good()) as (address, got), EnginePool(address, "secret") as pool:
        with pytest.raises(EngineRefused, match=code):
            await pool.generate(request(), 5)
        assert len(got) == 1


async def test_patience_ends_with_the_last_problem_named() -> None:
    async with (
        engine(refusal(409, "wrong_policy")) as (address, _),
        EnginePool(address, "secret", patience_seconds=3) as pool,
    ):
        with pytest.raises(EngineUnavailable, match="wrong_policy"):
            await pool.generate(request(), 5)
        assert pool.figures.in_flight == 0


async def test_an_engine_that_hangs_is_left_after_the_timeout() -> None:
    async with (
        engine(lambda: asyncio.sleep(60)) as (address, _),
        EnginePool(address, "secret", patience_seconds=0.4) as pool,
    ):
        with pytest.raises(EngineUnavailable, match="TimeoutError"):
            await pool.generate(request(), 0.1)


async def test_a_slow_engine_is_given_more_time_with_each_try() -> None:
    async def slow() -> web.Response:
        await asyncio.sleep(0.3)
        return good()

    async with engine(slow) as (address, got), EnginePool(address, "secret", patience_seconds=20.0) as pool:
        assert (await pool.generate(request(), 0.05)).token_ids == (7, 8)
        assert len(got) > 1


async def test_an_engine_that_is_gone_is_replaced_by_another() -> None:
    async with engine(good()) as (gone, _):
        pass
    async with engine(good()) as (address, got), EnginePool(f"{gone},{address}", "secret") as pool:
        answers = await asyncio.gather(*(pool.generate(request(seed=i), 5) for i in range(6)))
        assert len(answers) == len(got) == 6


async def test_the_least_busy_engine_is_asked() -> None:
    started = asyncio.Semaphore(0)
    release = asyncio.Event()

    async def slow() -> web.Response:
        started.release()
        await release.wait()
        return good()

    async with (
        engine(slow) as (one, got_one),
        engine(slow) as (other, got_other),
        EnginePool(f"{one},{other}", "secret") as pool,
    ):
        asked = [asyncio.create_task(pool.generate(request(seed=i), 30)) for i in range(8)]
        for _ in asked:
            await started.acquire()
        assert (len(got_one), len(got_other)) == (4, 4)
        release.set()
        await asyncio.gather(*asked)
