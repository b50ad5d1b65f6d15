"""Whatever an endpoint answers has a defined result: tried again, refused for good, or the model's own word."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config import SamplingConfig
from spade_contracts.config.environments import EndpointConfig
from spade_trainer.design.endpoint import (
    LONGEST_PAUSE_SECONDS,
    Ask,
    EndpointRefused,
    EndpointUnavailable,
    RequestResult,
    endpoint_at,
    paced,
    pause_seconds,
)
from spade_trainer.design.prompt import ChatMessage
from spade_trainer.store.designs import Usage
from spade_trainer.workers.figures import new_figures

SAMPLING = SamplingConfig(temperature=0.6, top_p=0.95, top_k=20, max_new_tokens=100)
MESSAGES: list[ChatMessage] = [{"role": "user", "content": "Write."}]
ROLE = "designer"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def completion(content: Any, reason: str = "stop", **usage: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}, "finish_reason": reason}], "usage": usage}


def text(body: str, status: int = 200, **headers: str) -> Answer:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=body, status=status, headers={key.replace("_", "-"): v for key, v in headers.items()})

    return answer


def saying(content: Any, reason: str = "stop", **usage: Any) -> Answer:
    return text(json.dumps(completion(content, reason, **usage)))


async def broken_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.close()
    return response


async def silent(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(3600)
    return web.Response()


class Served:
    """An endpoint that gives its answers in turn, the last one for ever."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = list(answers)
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.figures = new_figures()
        self.pauses: list[float] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.keys.append(request.headers.get("Authorization"))
        return await self.answers[min(len(self.bodies), len(self.answers)) - 1](request)

    def observe(self, result: RequestResult) -> None:
        self.figures.endpoint_asked(ROLE, result)

    def counted(self, name: str) -> dict[RequestResult, float]:
        """A worker's count by result, without zeros."""
        labels = {result: {"role": ROLE, "result": result} for result in RequestResult}
        values = {result: self.figures.registry.get_sample_value(name, own) for result, own in labels.items()}
        return {result: value for result, value in values.items() if value}

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


@asynccontextmanager
async def asking(served: Served, key: str | None = None, **settings: Any) -> AsyncIterator[Ask]:
    application = web.Application()
    application.router.add_post("/v1/chat/completions", served.handle)
    async with TestServer(application) as server:
        config = EndpointConfig(
            **{
                "url": str(server.make_url("/v1/")),
                "model": "large",
                "attempts": 3,
                "requests_per_minute": 100_000,
                **settings,
            }
        )
        where = "environments.designer.endpoint"
        async with endpoint_at(config, key, where=where, observe=served.observe, sleep=served.sleep) as ask:
            yield ask


async def test_answer_comes_with_what_it_cost() -> None:
    served = Served([saying("class AEnv: ...", prompt_tokens=1000, completion_tokens=500)])
    async with asking(served, "a key", prompt_price=2.0, completion_price=8.0) as ask:
        answer = await ask(MESSAGES, SAMPLING)
    assert (answer.text, answer.cut) == ("class AEnv: ...", False)
    assert answer.usage == Usage(1, 1000, 500, pytest.approx(0.006))
    assert served.keys == ["Bearer a key"]
    assert served.bodies == [
        {"model": "large", "messages": MESSAGES, "max_tokens": 100, "temperature": 0.6, "top_p": 0.95}
    ]


async def test_without_a_key_none_is_sent() -> None:
    served = Served([saying("yes")])
    async with asking(served) as ask:
        await ask(MESSAGES, SAMPLING)
    assert served.keys == [None]


PASSING = {
    "rate limit": (text("slow down", 429), RequestResult.RATE_LIMITED),
    "server error": (text("oops", 500), RequestResult.SERVER_ERROR),
    "bad gateway": (text("<html>", 502), RequestResult.SERVER_ERROR),
    "timeout of the server": (text("", 408), RequestResult.SERVER_ERROR),
    "garbage": (text("\x00<html>garbage"), RequestResult.UNREADABLE),
    "nothing": (text(""), RequestResult.UNREADABLE),
    "JSON of another kind": (text("[1, 2]"), RequestResult.UNREADABLE),
    "no choice": (text('{"choices": []}'), RequestResult.UNREADABLE),
    "a number for a text": (saying(7), RequestResult.UNREADABLE),
    "deep nesting": (text("[" * 100_000), RequestResult.UNREADABLE),
    "half an answer": (broken_off, RequestResult.UNREACHABLE),
}


@pytest.mark.parametrize("name", PASSING)
async def test_what_may_pass_is_tried_again(name: str) -> None:
    failing, result = PASSING[name]
    served = Served([failing, failing, saying("at last", prompt_tokens=5)])
    async with asking(served) as ask:
        answer = await ask(MESSAGES, SAMPLING)
    assert answer.text == "at last"
    assert answer.usage == Usage(3, 5, 0, 0.0)
    assert served.counted("spade_endpoint_requests_total") == {result: 2, RequestResult.ANSWERED: 1}
    assert len(served.pauses) == 2


@pytest.mark.parametrize("name", PASSING)
async def test_what_does_not_pass_is_a_fault_of_infrastructure(name: str) -> None:
    failing, result = PASSING[name]
    served = Served([failing])
    async with asking(served) as ask:
        with pytest.raises(EndpointUnavailable, match=f"no answer in 3 tries; the last: {result}") as caught:
            await ask(MESSAGES, SAMPLING)
    assert not caught.value.permanent
    assert served.counted("spade_endpoint_requests_total") == {result: 3}
    assert len(served.pauses) == 2


async def test_endpoint_that_says_nothing_is_given_up_after_its_deadline() -> None:
    served = Served([silent])
    async with asking(served, timeout_seconds=0.05, attempts=2) as ask:
        with pytest.raises(EndpointUnavailable, match=r"no answer within 0\.05 s"):
            await ask(MESSAGES, SAMPLING)
    assert served.counted("spade_endpoint_requests_total") == {RequestResult.TIMEOUT: 2}


async def test_endpoint_that_is_not_there_is_a_fault_of_infrastructure() -> None:
    served = Served([])
    async with asking(served, url=f"http://127.0.0.1:{unused_port()}/v1", attempts=2) as ask:
        with pytest.raises(EndpointUnavailable):
            await ask(MESSAGES, SAMPLING)
    assert served.counted("spade_endpoint_requests_total") == {RequestResult.UNREACHABLE: 2}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_what_can_never_be_served_is_refused_at_once(status: int) -> None:
    served = Served([text("no such model", status)])
    async with asking(served, "secret") as ask:
        with pytest.raises(EndpointRefused, match=f"status {status}: 'no such model'") as caught:
            await ask(MESSAGES, SAMPLING)
    assert caught.value.permanent
    assert caught.value.where == "environments.designer.endpoint"
    assert "secret" not in str(caught.value)
    assert served.counted("spade_endpoint_requests_total") == {RequestResult.REFUSED: 1}


OTHER_BOUNDS = [
    {"message": "Use 'max_completion_tokens' instead.", "param": "max_tokens", "code": "unsupported_parameter"},
    {"message": "Not with this model.", "param": "max_tokens", "code": "unsupported_parameter"},
    {"message": "Unknown field max_tokens, did you mean max_completion_tokens?"},
]


@pytest.mark.parametrize("error", OTHER_BOUNDS)
async def test_server_that_takes_the_bound_by_its_newer_name_only_is_asked_so_from_then_on(
    error: dict[str, str],
) -> None:
    served = Served([text(json.dumps({"error": error}), 400), saying("one"), saying("two")])
    async with asking(served, attempts=1) as ask:
        first, second = await ask(MESSAGES, SAMPLING), await ask(MESSAGES, SAMPLING)
    assert (first.text, second.text) == ("one", "two")
    assert (first.usage.requests, second.usage.requests) == (2, 1)
    assert [body.get("max_tokens") for body in served.bodies] == [100, None, None]
    assert [body.get("max_completion_tokens") for body in served.bodies] == [None, 100, 100]
    assert served.counted("spade_endpoint_requests_total") == {RequestResult.OTHER_BOUND: 1, RequestResult.ANSWERED: 2}
    assert served.pauses == []


async def test_server_that_takes_neither_name_is_no_endless_task() -> None:
    served = Served([text('{"error": {"message": "max_completion_tokens is too large"}}', 400)])
    async with asking(served) as ask:
        with pytest.raises(EndpointRefused, match="too large"):
            await ask(MESSAGES, SAMPLING)
    assert served.counted("spade_endpoint_requests_total") == {RequestResult.OTHER_BOUND: 1, RequestResult.REFUSED: 1}


@pytest.mark.parametrize(
    "body", ["null", "[]", '{"error": null}', '{"error": "max_tokens"}', '{"error": {"param": 1}}', "["]
)
async def test_other_refusals_are_no_question_of_the_name(body: str) -> None:
    served = Served([text(body, 400)])
    async with asking(served) as ask:
        with pytest.raises(EndpointRefused):
            await ask(MESSAGES, SAMPLING)
    assert served.counted("spade_endpoint_requests_total") == {RequestResult.REFUSED: 1}


@pytest.mark.parametrize("content", ["", None])
async def test_empty_answer_is_the_models_word(content: str | None) -> None:
    async with asking(Served([saying(content)])) as ask:
        assert (await ask(MESSAGES, SAMPLING)).text == ""


async def test_answer_that_ended_at_its_bound_is_handed_on_as_it_is() -> None:
    async with asking(Served([saying("```python\nclass A", "length")])) as ask:
        answer = await ask(MESSAGES, SAMPLING)
    assert (answer.text, answer.cut) == ("```python\nclass A", True)


@pytest.mark.parametrize("usage", [{"prompt_tokens": -1}, {"prompt_tokens": "9"}, {"prompt_tokens": True}, {}])
async def test_usage_that_is_none_counts_nothing(usage: dict[str, Any]) -> None:
    async with asking(Served([saying("yes", **usage)]), prompt_price=1.0) as ask:
        assert (await ask(MESSAGES, SAMPLING)).usage == Usage(1, 0, 0, 0.0)


async def test_server_is_asked_again_when_it_wants_to_be() -> None:
    served = Served([text("", 429, Retry_After="7"), text("", 503, Retry_After="Wed, 01 Jan"), saying("yes")])
    async with asking(served) as ask:
        await ask(MESSAGES, SAMPLING)
    assert served.pauses == [7.0, 2.0]


@given(st.integers(0, 100), st.none() | st.floats(allow_nan=False))
def test_no_pause_is_longer_than_its_bound(attempt: int, wanted: float | None) -> None:
    assert 0 <= pause_seconds(attempt, wanted) <= LONGEST_PAUSE_SECONDS


async def test_requests_begin_evenly_at_the_rate_of_the_settings() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    admit = paced(60, sleep)
    for _ in range(4):
        await admit()
    assert [round(wait) for wait in waits] == [1, 2, 3]
