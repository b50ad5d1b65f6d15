"""The client believes nothing of what a pod sends until it has been checked, and tells faults of pods from programs."""

import asyncio
import json
from typing import Any

import pytest
from tests.support.fake_pods import (
    BOOT_ID,
    LOAD,
    STEP,
    Answerer,
    FakePods,
    Json,
    Peer,
    Said,
    Truth,
    answering,
    honest,
    lying,
    refusal,
)

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import EnvironmentFault, InvalidInput
from spade_contracts.protocol import PROTOCOL_VERSION
from spade_sandbox.client import (
    InvalidReturn,
    NoCapacity,
    ProgramCrash,
    ProgramMemory,
    ProgramTimeout,
    ProtocolViolation,
    SandboxLost,
    SandboxSession,
)

pytestmark = pytest.mark.looptime

LIMITS = SandboxLimits(observation_characters=1000, action_characters=100)


async def step_on(pods: FakePods, action: str = "go") -> Any:
    """The result of one step in a new session."""
    async with pods.pool() as pool, pool.session("source", LIMITS, max_turns=5, wait_seconds=100) as session:
        await session.reset(1)
        return await session.step(action)


async def test_honest_pod_is_believed() -> None:
    async with FakePods(honest()) as pods:
        assert (await step_on(pods)).observation == "fine"


LIES: dict[str, Said] = {
    "reward is text": {"ok": {**STEP, "reward": "1"}},
    "reward is infinite": '{"id": 5, "ok": ' + json.dumps({**STEP, "reward": float("inf")}) + "}",
    "reward is no number": '{"id": 5, "ok": ' + json.dumps({**STEP, "reward": float("nan")}) + "}",
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
    "an id that is text": json.dumps({"id": "5", "ok": STEP}),
    "an id with a million digits": '{"id": ' + "1" * 1_000_000 + "}",
    "a number that is too large": '{"id": 5, "ok": ' + json.dumps(STEP).replace("0.25", "1e999") + "}",
    "half a surrogate pair": '{"id": 5, "ok": ' + json.dumps({**STEP, "observation": "\ud800"}) + "}",
    "a longer text than the session's limit": {"ok": {**STEP, "observation": "x" * 1001}},
    "a refusal in mid-session": refusal("capacity"),
    "an info that is too large": {"ok": {**STEP, "info": {str(i): 1 for i in range(100)}}},
    "an info in an info": {"ok": {**STEP, "info": {"a": {"b": 1}}}},
    "a name as long as a message": {"ok": {**STEP, "x" * 4_000_000: 1}},
    "a hundred thousand wrong names": {"ok": {**STEP, **{str(i): 1 for i in range(100_000)}}},
    "a million wrong tools": '{"id": 5, "ok": {"op": "tools", "tools": [' + "{}," * 1_000_000 + "{}]}}",
}


@pytest.mark.parametrize("lie", LIES)
async def test_lying_pod_is_given_up_as_infrastructure(lie: str) -> None:
    async with FakePods(lying("step", LIES[lie])) as pods:
        with pytest.raises(ProtocolViolation) as raised:
            await step_on(pods)
    assert len(str(raised.value)) < 1000, "an error is for people"


async def test_second_answer_to_one_request_ends_the_connection() -> None:
    truth = Truth()

    async def behave(peer: Peer) -> None:
        await peer.handshake()
        while True:
            request = await peer.receive()
            for _ in range(2 if request["op"] == "step" else 1):
                await peer.say(request, truth(request))

    async with FakePods(behave) as pods, pods.pool() as pool, pool.session("s", LIMITS, max_turns=5) as session:
        assert (await session.step("x")).observation == "fine", "the first answer is as good as any"
        with pytest.raises(ProtocolViolation, match="not asked"):
            await session.step("x")


async def test_two_sessions_with_one_number_end_the_connection() -> None:
    async with (
        FakePods(lying("open", {"ok": {"op": "open", "session": 7, "load": LOAD}})) as pods,
        pods.pool() as pool,
        pool.session("s", LIMITS, max_turns=5) as first,
    ):
        with pytest.raises(NoCapacity, match="same number"):
            async with pool.session("s", LIMITS, max_turns=5, wait_seconds=0.1):
                pass
        with pytest.raises(ProtocolViolation):
            await first.step("x")


@pytest.mark.parametrize("version", [1, PROTOCOL_VERSION + 1])
async def test_pod_of_another_protocol_version_gets_no_session(version: int) -> None:
    hello = {"op": "hello", "version": version, "boot_id": BOOT_ID, "load": LOAD}
    async with FakePods(lying("hello", {"ok": hello})) as pods:
        with pytest.raises(NoCapacity, match=f"speaks protocol {version}"):
            await step_on(pods)


async def test_pod_that_speaks_of_another_version_in_its_refusal_gets_no_session() -> None:
    async with FakePods(lying("hello", refusal("bad_request"))) as pods:
        with pytest.raises(NoCapacity, match="bad_request"):
            await step_on(pods)


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
    async with FakePods(lying(operation, refusal(kind))) as pods:
        with pytest.raises(error):
            await step_on(pods)


async def test_step_is_sent_once_even_if_it_is_lost() -> None:
    steps = []
    truth = Truth()

    def forgetful(request: Json) -> Said:
        if request["op"] == "step":
            steps.append(request)
            return refusal("lost")
        return truth(request)

    async with FakePods(answering(forgetful), answering(forgetful)) as pods:
        with pytest.raises(SandboxLost):
            await step_on(pods)
    assert len(steps) == 1


async def test_open_that_is_lost_is_tried_on_another_pod() -> None:
    async with FakePods(lying("open", "mischief"), honest()) as pods:
        for _ in range(4):
            assert (await step_on(pods)).observation == "fine"


def noting(seen: list[Json], answer: Answerer | None = None) -> Answerer:
    """A good pod that notes what it is asked."""
    say = answer or Truth()

    def noted(request: Json) -> Any:
        seen.append(request)
        return say(request)

    return noted


async def test_forgotten_source_is_uploaded_again() -> None:
    seen: list[Json] = []
    truth = Truth()

    def forgets_the_first(request: Json) -> Said:
        if request["op"] == "open" and sum(one["op"] == "put" for one in seen) == 1:
            return refusal("unknown_source")
        return truth(request)

    async with FakePods(answering(noting(seen, forgets_the_first))) as pods:
        assert (await step_on(pods)).observation == "fine"
    assert [one["op"] for one in seen][:5] == ["hello", "put", "open", "put", "open"]


async def test_pod_that_forgets_every_source_is_given_up() -> None:
    async with FakePods(lying("open", refusal("unknown_source"))) as pods:
        with pytest.raises(NoCapacity, match="forgets every source"):
            await step_on(pods)


async def test_source_is_uploaded_once_for_many_sessions() -> None:
    seen: list[Json] = []
    async with FakePods(answering(noting(seen))) as pods, pods.pool() as pool:
        for _ in range(3):
            async with pool.session("source", LIMITS, max_turns=5):
                pass
    assert [one["op"] for one in seen] == ["hello", "put", "open", "close", "open", "close", "open", "close"]


async def test_source_that_no_pod_would_take_is_refused_at_once() -> None:
    async with FakePods() as pods, pods.pool() as pool:
        with pytest.raises(InvalidInput, match="characters"):
            async with pool.session("x" * 10_000_000, LIMITS, max_turns=5):
                pass


async def test_silent_pod_is_lost_at_the_deadline() -> None:
    async with (
        FakePods(lying("step", None)) as pods,
        pods.pool() as pool,
        pool.session("source", SandboxLimits(step_seconds=1.0), max_turns=5) as session,
    ):
        began = asyncio.get_running_loop().time()
        with pytest.raises(SandboxLost, match="did not answer"):
            await session.step("x")
        assert asyncio.get_running_loop().time() - began < 30


async def test_action_is_cut_to_the_limit_and_made_valid_unicode() -> None:
    seen: list[Json] = []
    async with FakePods(answering(noting(seen))) as pods:
        await step_on(pods, action="\ud800" + "a" * 500)
    assert [one["action"] for one in seen if one["op"] == "step"] == ["?" + "a" * 99]


async def test_operations_of_different_sessions_do_not_wait_for_each_other() -> None:
    both_are_here = asyncio.Barrier(2)
    truth = Truth()

    async def together(request: Json) -> Said:
        if request["op"] == "step":
            await both_are_here.wait()
        return truth(request)

    async with FakePods(answering(together)) as pods, pods.pool() as pool:

        async def one() -> str:
            async with pool.session("source", LIMITS, max_turns=5) as session:
                return (await session.step("x")).observation

        async with asyncio.timeout(20):
            assert await asyncio.gather(one(), one()) == ["fine", "fine"]


async def test_answers_in_any_order_reach_who_asked() -> None:
    truth = Truth()
    waiting: list[asyncio.Future[None]] = []

    async def last_first(request: Json) -> Said:
        if request["op"] != "step":
            return truth(request)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        if len(waiting) < 4:
            await turn
        if waiting:
            waiting.pop()
        if waiting:
            waiting[-1].set_result(None)
        return {"ok": {**STEP, "observation": request["action"]}}

    async with FakePods(answering(last_first)) as pods, pods.pool() as pool:

        async def one(name: str) -> str:
            async with pool.session("source", LIMITS, max_turns=5) as session:
                return (await session.step(name)).observation

        assert await asyncio.gather(*(one(name) for name in "abcd")) == list("abcd")


async def test_steps_are_timed_for_metrics() -> None:
    seconds: list[float] = []
    truth = Truth()

    async def slow(request: Json) -> Said:
        if request["op"] == "step":
            await asyncio.sleep(3)
        return truth(request)

    async with (
        FakePods(answering(slow)) as pods,
        pods.pool(observe_step=seconds.append) as pool,
        pool.session("source", LIMITS, max_turns=5) as session,
    ):
        await session.step("x")
    assert seconds == [pytest.approx(3)]


async def test_cancelled_operation_ends_its_session_and_no_other() -> None:
    truth = Truth()

    async def slow(request: Json) -> Said:
        if request["op"] == "step" and request["action"] == "slow":
            await asyncio.sleep(3)
        return truth(request)

    async with FakePods(answering(slow)) as pods, pods.pool() as pool:
        async with (
            pool.session("source", LIMITS, max_turns=5) as cancelled,
            pool.session("source", LIMITS, max_turns=5) as other,
        ):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(cancelled.step("slow"), 1)
            with pytest.raises(SandboxLost, match="cancelled"):
                await cancelled.step("again")
            await asyncio.sleep(5)
            assert (await other.step("x")).observation == "fine", "the late answer was expected"
        assert pool.stats.sessions == {"ok": 2}


async def test_error_of_a_session_answers_all_its_later_operations() -> None:
    async with (
        FakePods(lying("step", refusal("crash"))) as pods,
        pods.pool() as pool,
        pool.session("source", LIMITS, max_turns=5) as session,
    ):
        for operation in (session.step("x"), session.reset(1), session.solution()):
            with pytest.raises(EnvironmentFault):
                await operation


async def test_session_that_was_closed_takes_no_operation() -> None:
    async with FakePods(honest()) as pods, pods.pool() as pool:
        async with pool.session("source", LIMITS, max_turns=5) as session:
            kept: SandboxSession = session
        with pytest.raises(SandboxLost, match="closed"):
            await kept.step("x")
