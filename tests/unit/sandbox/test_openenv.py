"""What OpenEnv's front says without any pod: descriptions, refusals of malformed messages, and lack of capacity."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.protocol import MAX_SEED
from spade_sandbox.adapters.openenv import Served, application
from spade_sandbox.client import SandboxPool

Talk = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def front() -> AsyncIterator[TestServer]:
    """A front whose pool resolves to no pod."""
    async with SandboxPool((), "token") as pool:
        served = Served({"one": "x", "two": "y"}, pool, SandboxLimits(), Domain.GAMES, max_turns=5, wait_seconds=0.0)
        async with TestServer(application(served)) as server:
            yield server


@pytest.fixture
async def say(front: TestServer) -> AsyncIterator[Talk]:
    """Sends one message, text or data, and returns the answer."""
    async with aiohttp.ClientSession() as http, http.ws_connect(front.make_url("/ws")) as socket:

        async def talk(message: object) -> dict[str, Any]:
            await socket.send_str(message if isinstance(message, str) else json.dumps(message))
            answer: dict[str, Any] = json.loads(await socket.receive_str(timeout=20))
            return answer

        yield talk


def code(answer: dict[str, Any]) -> str:
    assert answer["type"] == "error"
    assert answer["data"]["message"]
    return str(answer["data"]["code"])


async def test_front_describes_itself(front: TestServer) -> None:
    async with aiohttp.ClientSession() as http:
        for path, key in (("/health", "status"), ("/metadata", "name"), ("/schema", "observation")):
            async with http.get(front.make_url(path)) as response:
                assert key in await response.json()


async def test_address_of_an_unknown_program_does_not_exist(front: TestServer) -> None:
    async with aiohttp.ClientSession() as http, http.get(front.make_url("/programs/three/ws")) as response:
        assert response.status == 404


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("{", "INVALID_JSON"),
        ("[" * 10_000, "INVALID_JSON"),
        ("5", "UNKNOWN_TYPE"),
        ({}, "UNKNOWN_TYPE"),
        ({"type": "fly"}, "UNKNOWN_TYPE"),
        ({"type": "step"}, "UNKNOWN_TYPE"),
        ({"type": "step", "data": {}}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {"action": 5}}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {"action": "x", "more": 1}}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {"type": "call_tool"}}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {"action": "before any reset"}}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"seed": -1, "program": "one"}}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"seed": MAX_SEED + 1, "program": "one"}}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"program": "three"}}, "VALIDATION_ERROR"),
        ({"type": "reset"}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"program": "one"}}, "CAPACITY_REACHED"),
    ],
)
async def test_message_that_cannot_be_served_is_an_error_and_the_connection_lives(
    say: Talk, message: object, expected: str
) -> None:
    assert code(await say(message)) == expected
    assert await say({"type": "state"}) == {
        "type": "state",
        "data": {"episode_id": None, "step_count": 0, "program": None, "seed": None},
    }


async def test_lack_of_pods_is_said_to_be_ours(say: Talk) -> None:
    answer = await say({"type": "reset", "data": {"program": "two"}})
    assert answer["data"]["infrastructure"] is True
