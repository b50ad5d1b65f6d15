"""The client believes nothing of what a pod sends until it has been checked, and tells faults of pods from programs."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from spade_contracts.config.sandbox import SandboxLimits
from spade_sandbox.client import (
    InvalidReturn,
    NoCapacity,
    ProgramCrash,
    ProgramMemory,
    ProgramTimeout,
    ProtocolViolation,
    SandboxLost,
    SandboxPool,
)

LIMITS = SandboxLimits(observation_characters=1000, action_characters=100)
LOAD = {"sessions": 0, "capacity": 4}
STEP = {"op": "step", "observation": "fine", "reward": 0.25, "terminated": False, "truncated": False, "info": {}}
Answer = dict[str, Any] | str | None
"""What a fake pod says: fields of the answer, raw text, or None for silence."""


def honest(request: dict[str, Any]) -> Answer:
    """What a good pod answers."""
    results: dict[str, dict[str, Any]] = {
        "hello": {"op": "hello", "version": 1, "boot_id": "0123456789abcdef", "load": LOAD},
        "put": {"op": "put"},
        "open": {"op": "open", "session": 7, "load": LOAD},
        "reset": {"op": "reset", "observation": "begin", "info": {}},
        "step": STEP,
        "solution": {"op": "solution", "text": "s"},
        "close": {"op": "close", "load": LOAD},
    }
    return {"ok": results[request["op"]]}


@asynccontextmanager
async def fake_pod(answer: Callable[[dict[str, Any]], Answer | Awaitable[Answer]]) -> AsyncIterator[str]:
    """A server that speaks WebSocket and answers as it is told."""

    async def handle(socket: ServerConnection, request: dict[str, Any]) -> None:
        said = answer(request)
        if isinstance(said, Awaitable):
            said = await said
        if said is not None:
            with suppress(ConnectionClosed):
                await socket.send(said if isinstance(said, str) else json.dumps({"id": request["id"], **said}))

    async def connected(socket: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            async with asyncio.TaskGroup() as tasks:
                async for message in socket:
                    tasks.create_task(handle(socket, json.loads(message)))

    async with serve(connected, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"


def lying(operation: str, said: Answer) -> Callable[[dict[str, Any]], Answer]:
    """An honest pod but for one operation."""
    return lambda request: said if request["op"] == operation else honest(request)


def refusal(kind: str) -> dict[str, Any]:
    """An error answer."""
    return {"error": {"kind": kind, "message": "because"}}


async def step_on(*pods: str, action: str = "go") -> object:
    """The result of one step in a new session."""
    async with (
        SandboxPool(pods, "token") as pool,
        pool.session("source", LIMITS, max_turns=5, wait_seconds=5) as session,
    ):
        await session.reset(1)
        return await session.step(action)


async def test_honest_pod_is_believed() -> None:
    async with fake_pod(honest) as pod:
        assert (await step_on(pod)).observation == "fine"


async def until(seen: Callable[[], bool]) -> None:
    """Let the loop run until something is seen; TimeoutError if it is not."""
    async with asyncio.timeout(20):
        while not seen():  # noqa: ASYNC110  # what is awaited belongs to the client
            await asyncio.sleep(0.01)


LIES: dict[str, Answer] = {
    "reward is text": {"ok": {**STEP, "reward": "1"}},
    "reward is infinite": '{"id": 5, "ok": ' + json.dumps({**STEP, "reward": float("inf")}) + "}",
    "terminated is a number": {"ok": {**STEP, "terminated": 1}},
    "a field is missing": {"ok": {"op": "step", "observation": "x"}},
    "a field too many": {"ok": {**STEP, "extra": 1}},
    "another operation's result": {"ok": {"op": "solution", "text": "x"}},
    "neither ok nor error": {},
    "both": {"ok": STEP, **refusal("crash")},
    "an unknown kind": refusal("mischief"),
    "no JSON": "mischief",
    "deeply nested JSON": "[" * 100_000,
    "an answer to nothing": json.dumps({"id": 999, "ok": STEP}),
    "a longer text than the session's limit": {"ok": {**STEP, "observation": "x" * 1001}},
    "a refusal in mid-session": refusal("capacity"),
    "an info that is too large": {"ok": {**STEP, "info": {str(i): 1 for i in range(100)}}},
}


@pytest.mark.parametrize("lie", LIES)
async def test_lying_pod_is_given_up_as_infrastructure(lie: str) -> None:
    async with fake_pod(lying("step", LIES[lie])) as pod:
        with pytest.raises(ProtocolViolation):
            await step_on(pod)


async def test_message_beyond_the_limit_ends_the_connection() -> None:
    async with fake_pod(lying("step", " " * (5 * 2**20))) as pod:
        with pytest.raises(SandboxLost):
            await step_on(pod)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("timeout", ProgramTimeout),
        ("memory", ProgramMemory),
        ("crash", ProgramCrash),
        ("invalid_return", InvalidReturn),
        ("lost", SandboxLost),
    ],
)
@pytest.mark.parametrize("operation", ["open", "reset", "step"])
async def test_fault_is_raised_as_its_type(kind: str, error: type[Exception], operation: str) -> None:
    async with fake_pod(lying(operation, refusal(kind))) as pod:
        with pytest.raises(error):
            await step_on(pod)


async def test_step_is_sent_once_even_if_it_is_lost() -> None:
    steps = []

    def forgetful(request: dict[str, Any]) -> Answer:
        if request["op"] == "step":
            steps.append(request)
            return refusal("lost")
        return honest(request)

    async with fake_pod(forgetful) as pod, fake_pod(forgetful) as other:
        with pytest.raises(SandboxLost):
            await step_on(pod, other)
    assert len(steps) == 1


async def test_open_that_is_lost_is_tried_on_another_pod() -> None:
    async with fake_pod(lying("open", "mischief")) as bad, fake_pod(honest) as good:
        for _ in range(4):
            assert (await step_on(bad, good)).observation == "fine"


async def test_forgotten_source_is_uploaded_again() -> None:
    held: set[str] = set()
    puts = []

    def forgets_the_first(request: dict[str, Any]) -> Answer:
        if request["op"] == "put":
            puts.append(request["sha256"])
            if len(puts) > 1:
                held.add(request["sha256"])
        if request["op"] == "open" and request["sha256"] not in held:
            return refusal("unknown_source")
        return honest(request)

    async with fake_pod(forgets_the_first) as pod:
        assert (await step_on(pod)).observation == "fine"
    assert len(puts) == 2


async def test_source_is_uploaded_once_for_many_sessions() -> None:
    seen: list[str] = []

    def noting(request: dict[str, Any]) -> Answer:
        seen.append(request["op"])
        return honest(request)

    async with fake_pod(noting) as pod, SandboxPool(pod, "token") as pool:
        for _ in range(3):
            async with pool.session("source", LIMITS, max_turns=5):
                pass
    assert seen == ["hello", "put", "open", "close", "open", "close", "open", "close"]


async def test_least_loaded_pod_gets_the_session() -> None:
    def loaded(sessions: int, opened: list[int]) -> Callable[[dict[str, Any]], Answer]:
        load = {"sessions": sessions, "capacity": 10}

        def answer(request: dict[str, Any]) -> Answer:
            if request["op"] == "hello":
                return {"ok": {"op": "hello", "version": 1, "boot_id": "0123456789abcdef", "load": load}}
            if request["op"] == "open":
                opened.append(sessions)
                return {"ok": {"op": "open", "session": 1, "load": load}}
            return honest(request)

        return answer

    opened: list[int] = []
    async with (
        fake_pod(loaded(9, opened)) as full,
        fake_pod(loaded(2, opened)) as idle,
        SandboxPool([full, idle], "token") as pool,
    ):
        await until(lambda: list(pool.pods.values()) == [True, True])
        for _ in range(3):
            async with pool.session("source", LIMITS, max_turns=5):
                pass
    assert opened == [2, 2, 2]


async def test_session_waits_while_all_pods_are_full_and_counts_as_wanted() -> None:
    room = asyncio.Event()

    def full(request: dict[str, Any]) -> Answer:
        return refusal("capacity") if request["op"] == "open" and not room.is_set() else honest(request)

    async with fake_pod(full) as pod, SandboxPool(pod, "token") as pool:

        async def one() -> None:
            async with pool.session("source", LIMITS, max_turns=5, wait_seconds=30):
                assert (pool.stats.open, pool.stats.wanted) == (1, 0)

        waiting = asyncio.create_task(one())
        await until(lambda: pool.stats.wanted == 1)
        assert not waiting.done()
        room.set()
        await waiting
        assert (pool.stats.open, pool.stats.wanted) == (0, 0)


@pytest.mark.parametrize("kind", ["capacity", "not_isolated"])
async def test_wait_for_room_ends_with_the_reason(kind: str) -> None:
    async with fake_pod(lying("open", refusal(kind))) as pod, SandboxPool(pod, "token") as pool:
        with pytest.raises(NoCapacity, match=kind):
            async with pool.session("source", LIMITS, max_turns=5, wait_seconds=0.3):
                pass


async def test_no_pod_at_all_is_no_capacity() -> None:
    async with SandboxPool("127.0.0.1:1", "token") as pool:
        with pytest.raises(NoCapacity, match="cannot be reached"):
            async with pool.session("source", LIMITS, max_turns=5, wait_seconds=0.3):
                pass


async def test_silent_pod_is_lost_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spade_sandbox.client.session.GRACE_SECONDS", 0.1)
    limits = SandboxLimits(step_seconds=0.1)
    async with fake_pod(lying("step", None)) as pod, SandboxPool(pod, "token") as pool:
        async with pool.session("source", limits, max_turns=5) as session:
            with pytest.raises(SandboxLost, match="did not answer"):
                await session.step("x")
        assert pool.stats.outcomes["lost"] == 1


async def test_action_is_cut_to_the_limit_and_made_valid_unicode() -> None:
    seen = []

    def noting(request: dict[str, Any]) -> Answer:
        if request["op"] == "step":
            seen.append(request["action"])
        return honest(request)

    async with fake_pod(noting) as pod:
        await step_on(pod, action="\ud800" + "a" * 500)
    assert seen == ["?" + "a" * 99]


async def test_operations_of_different_sessions_do_not_wait_for_each_other() -> None:
    both_are_here = asyncio.Barrier(2)

    async def together(request: dict[str, Any]) -> Answer:
        if request["op"] == "step":
            await both_are_here.wait()
        return honest(request)

    async with fake_pod(together) as pod, SandboxPool(pod, "token") as pool:

        async def one() -> str:
            async with pool.session("source", LIMITS, max_turns=5) as session:
                return (await session.step("x")).observation

        async with asyncio.timeout(20):
            assert await asyncio.gather(one(), one()) == ["fine", "fine"]


async def test_steps_are_timed_for_metrics() -> None:
    seconds: list[float] = []
    async with (
        fake_pod(honest) as pod,
        SandboxPool(pod, "token", observe_step=seconds.append) as pool,
        pool.session("source", LIMITS, max_turns=5) as session,
    ):
        await session.step("x")
    assert len(seconds) == 1
    assert seconds[0] >= 0
