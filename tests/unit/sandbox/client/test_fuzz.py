"""Every operation ends in time with a value that keeps the contract or with a typed error, whatever the pod says."""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.fake_pods import LOAD, STEP, FakePods, Json, Peer, Truth, frame, in_virtual_time

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import SpadeError
from spade_sandbox.client import SandboxPool, SandboxSession
from spade_sandbox.client.opening import FORK_SECONDS, MAX_PUTS, PUT_SECONDS
from spade_sandbox.client.session import CLOSE_SECONDS, GRACE_SECONDS
from spade_sandbox.client.stats import OUTCOMES

LIMITS = SandboxLimits(observation_characters=200, load_seconds=4.0, step_seconds=2.0)
WAIT_SECONDS = 15.0
ATTEMPT_BOUND = MAX_PUTS * (PUT_SECONDS + LIMITS.load_seconds + FORK_SECONDS + GRACE_SECONDS)
OPEN_BOUND = WAIT_SECONDS + ATTEMPT_BOUND
OPERATION_BOUND = LIMITS.load_seconds + GRACE_SECONDS
EXAMPLES = 40

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=20),
)
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=8,
)
words = st.sampled_from(["hello", "put", "open", "reset", "step", "solution", "tools", "call", "inspect", "close", "?"])
keys = st.sampled_from(
    ["op", "observation", "reward", "terminated", "info", "session", "load", "sessions", "capacity", "text", "id", "ok"]
)
results = st.one_of(
    st.builds(lambda op, rest: {**rest, "op": op}, words, st.dictionaries(keys, anything, max_size=6)),
    st.just(STEP),
    st.builds(lambda reward: {**STEP, "reward": reward}, scalars),
    st.builds(lambda text: {**STEP, "observation": text}, st.text(max_size=400)),
    st.builds(lambda info: {**STEP, "info": info}, anything),
    st.builds(lambda number: {"op": "open", "session": number, "load": LOAD}, scalars),
    st.builds(
        lambda load: {"op": "close", "load": load, "cpu_seconds": 1.0},
        st.fixed_dictionaries({"sessions": scalars, "capacity": scalars}),
    ),
)  # fmt: skip
faults = st.builds(
    lambda kind, message: {"kind": kind, "message": message},
    st.sampled_from(["timeout", "crash", "lost", "capacity", "unknown_source", "bad_request", "not_isolated", "?"]),
    st.text(max_size=30),
)

frames = st.tuples(st.integers(0, 15), st.binary(max_size=130), st.booleans(), st.none() | st.integers(0, 2**64 - 1))

# what a pod does to one request: a name and its argument
deeds = st.one_of(
    st.tuples(st.just("tell the truth"), st.none()),
    st.tuples(st.just("tell the truth"), st.none()),
    st.tuples(st.just("say"), st.builds(lambda result: {"ok": result}, results)),
    st.tuples(st.just("say"), st.builds(lambda fault: {"error": fault}, faults)),
    st.tuples(st.just("say"), st.dictionaries(keys, anything, max_size=4)),
    st.tuples(st.just("change"), st.tuples(keys, anything)),
    st.tuples(st.just("forget"), keys),
    st.tuples(st.just("answer another"), st.integers(-3, 3)),
    st.tuples(st.just("say twice"), st.none()),
    st.tuples(st.just("garble"), st.tuples(st.integers(0, 200), st.integers(0, 255))),
    st.tuples(st.just("send bytes"), st.binary(max_size=64)),
    st.tuples(st.just("send frame"), frames),
    st.tuples(st.just("send text"), st.text(max_size=64)),
    st.tuples(st.just("nest"), st.integers(1, 20_000)),
    st.tuples(st.just("wait"), st.floats(0.1, 100)),
    st.tuples(st.just("trickle"), st.none()),
    st.tuples(st.just("keep still"), st.none()),
    st.tuples(st.just("hang up"), st.none()),
)  # fmt: skip


async def do(peer: Peer, truth: Truth, request: Json, deed: tuple[str, Any]) -> None:
    """One deed. What is sent after a hang-up raises, and ends the connection."""
    name, what = deed
    answer: Json = {"id": request["id"], **truth(request)}
    text = json.dumps(answer)
    match name:
        case "tell the truth":
            await peer.raw(frame(text))
        case "say":
            await peer.raw(frame(json.dumps({"id": request["id"], **what})))
        case "change":
            key, value = what
            inner = answer["ok"]
            (inner if key in inner else answer)[key] = value
            await peer.raw(frame(json.dumps(answer)))
        case "forget":
            answer["ok"].pop(what, None)
            await peer.raw(frame(json.dumps(answer)))
        case "answer another":
            await peer.raw(frame(json.dumps({**answer, "id": request["id"] + what})))
        case "say twice":
            await peer.raw(frame(text) * 2)
        case "garble":
            where, byte = what
            data = bytearray(frame(text))
            data[where % len(data)] = byte
            await peer.raw(bytes(data))
        case "send bytes":
            await peer.raw(what)
        case "send frame":
            opcode, payload, final, length = what
            await peer.raw(frame(payload, opcode, final=final, length=length))
        case "send text":
            await peer.raw(frame(what))
        case "nest":
            await peer.raw(frame(f'{{"id": {request["id"]}, "ok": ' + '{"info": ' * what))
        case "wait":
            await asyncio.sleep(what)
            await peer.raw(frame(text))
        case "trickle":
            for byte in frame(text):
                await peer.raw(bytes([byte]))
                await asyncio.sleep(1)
        case "hang up":
            raise ConnectionError
        case "keep still":
            pass


def pod_of(doings: list[tuple[str, Any]]) -> Callable[[Peer], Awaitable[None]]:
    """A pod that does these deeds, one a request, over all its connections, and is honest when they are used up."""
    left = list(reversed(doings))

    async def behave(peer: Peer) -> None:
        truth = Truth()
        await peer.handshake()
        while True:
            request = await peer.receive()
            await do(peer, truth, request, left.pop() if left else ("tell the truth", None))

    return behave


def keeps_the_contract(value: object) -> bool:
    """Whether an operation's value is what the client promises."""
    if isinstance(value, str):
        return len(value) <= LIMITS.observation_characters
    step: Any = value
    return (
        type(step.observation) is str
        and len(step.observation) <= LIMITS.observation_characters
        and type(step.reward) is float
        and math.isfinite(step.reward)
        and type(step.terminated) is bool
        and type(step.truncated) is bool
        and all(type(key) is str and type(item) in (bool, int, float, str) for key, item in step.info.items())
    )


async def bounded(work: Callable[[], Awaitable[Any]], seconds: float) -> bool:
    """Do one operation; whether it gave a value. Fails if it takes longer or ends otherwise than promised."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        value = await work()
    except SpadeError:
        return False
    finally:
        assert loop.time() - began <= seconds + 0.1
    assert keeps_the_contract(value)
    return True


async def one_session(pool: SandboxPool) -> None:
    """Open, play and close, each within its bound."""
    loop = asyncio.get_running_loop()
    context = pool.session("source", LIMITS, Domain.GAMES, max_turns=5, wait_seconds=WAIT_SECONDS)
    began = loop.time()
    try:
        session: SandboxSession = await context.__aenter__()
    except SpadeError:
        return
    finally:
        assert loop.time() - began <= OPEN_BOUND
    operations: list[Callable[[], Awaitable[Any]]] = [
        lambda: session.reset(1),
        lambda: session.step("a"),
        lambda: session.step("b"),
        session.solution,
    ]
    for operation in operations:
        if not await bounded(operation, OPERATION_BOUND):
            break
    began = loop.time()
    await context.__aexit__(None, None, None)
    assert loop.time() - began <= CLOSE_SECONDS + 0.1


def check(pods_doings: list[list[tuple[str, Any]]], sessions: int) -> None:
    """Play sessions on such pods and look at what is left."""

    async def main() -> None:
        async with FakePods(*map(pod_of, pods_doings)) as pods, pods.pool() as pool:
            await asyncio.gather(*(one_session(pool) for _ in range(sessions)))
            stats = pool.stats
            assert stats.open == stats.wanted == 0
            assert sum(stats.sessions.values()) == sessions
            assert set(stats.sessions) | set(stats.operations) <= set(OUTCOMES)

    in_virtual_time(main)


doings = st.lists(st.lists(deeds, max_size=12), min_size=1, max_size=2)


@given(doings, st.integers(1, 3))
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_every_operation_ends_in_time_with_a_value_or_a_typed_error(
    pods_doings: list[list[tuple[str, Any]]], sessions: int
) -> None:
    check(pods_doings, sessions)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@given(doings, st.integers(1, 6))
@settings(max_examples=3000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_every_operation_ends_in_time_over_many_examples(
    pods_doings: list[list[tuple[str, Any]]], sessions: int
) -> None:
    check(pods_doings, sessions)


@given(st.binary(max_size=300), st.booleans())
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_at_the_start_of_a_connection_are_survived(data: bytes, stay: bool) -> None:
    async def behave(peer: Peer) -> None:
        await peer.raw(data)
        if stay:
            await asyncio.Event().wait()

    async def main() -> None:
        async with FakePods(behave) as pods, pods.pool() as pool:
            await one_session(pool)

    in_virtual_time(main)
