"""A pod that is lost takes its own sessions with it and nothing else; one that cannot be trusted is left alone."""

import asyncio
from itertools import pairwise

import pytest
from tests.support.fake_pods import (
    LOAD,
    PING,
    PONG,
    Behaviour,
    FakePods,
    Json,
    Peer,
    Said,
    Truth,
    answering,
    frame,
    honest,
    lying,
    refusal,
    until,
)

from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.protocol import PROTOCOL_VERSION
from spade_sandbox.client import NoCapacity, ProgramCrash, SandboxLost, SandboxPool
from spade_sandbox.client.pods import DISTRUST_SECONDS, MAX_STRIKES, RECONNECT_SECONDS
from spade_sandbox.client.pool import MAX_FAILED_PROBES, PROBE_DEADLINE_SECONDS, PROBE_SECONDS

pytestmark = pytest.mark.looptime

LIMITS = SandboxLimits()


async def play(pool: SandboxPool, steps: int = 1, wait_seconds: float = 600.0) -> str:
    """Play one session and say on which pod."""
    async with pool.session("source", LIMITS, max_turns=5, wait_seconds=wait_seconds) as session:
        await session.reset(1)
        for _ in range(steps):
            await session.step("x")
            await asyncio.sleep(1)
        return session.pod


def deaf(after: str) -> Behaviour:
    """A good pod that reads and says nothing more, pongs included, once it was asked for an operation."""
    truth = Truth()

    async def behave(peer: Peer) -> None:
        await peer.handshake()
        while True:
            request = await peer.receive()
            if request["op"] == after:
                break
            await peer.say(request, truth(request))
        while True:
            await peer.receive_frame()

    return behave


async def test_pod_that_goes_loses_its_own_sessions_and_no_other() -> None:
    truth, gone = Truth(), asyncio.Event()

    async def behave(peer: Peer) -> None:
        await peer.handshake()

        async def serve() -> None:
            while True:
                request = await peer.receive()
                await peer.say(request, truth(request))

        serving = asyncio.ensure_future(serve())
        await gone.wait()
        serving.cancel()

    async with FakePods(behave, honest()) as pods, pods.pool() as pool:
        await until(lambda: list(pool.pods.values()) == [True, True])
        playing = [asyncio.create_task(play(pool, steps=10)) for _ in range(8)]
        await asyncio.sleep(3)
        gone.set()
        ends = await asyncio.gather(*playing, return_exceptions=True)
        assert sorted(type(end).__name__ for end in ends) == ["SandboxLost"] * 4 + ["str"] * 4
        assert pool.stats.sessions == {"ok": 4, "lost": 4}
        assert pool.stats.operations["lost"] == 4, "each session asked once more"
        assert pool.stats.open == pool.stats.wanted == 0


async def test_pod_that_answers_no_probe_gets_no_session_and_is_given_up() -> None:
    async with FakePods(deaf("step"), honest()) as pods, pods.pool() as pool:
        await until(lambda: list(pool.pods.values()) == [True, True])
        began = asyncio.get_running_loop().time()
        patient = SandboxLimits(step_seconds=600)
        async with (
            pool.session("source", patient, max_turns=5) as one,
            pool.session("source", patient, max_turns=5) as other,
        ):
            ends = await asyncio.gather(one.step("x"), other.step("x"), return_exceptions=True)
            assert sorted(type(end).__name__ for end in ends) == ["SandboxLost", "StepResult"]
            waited = asyncio.get_running_loop().time() - began
            assert waited <= MAX_FAILED_PROBES * (PROBE_SECONDS + PROBE_DEADLINE_SECONDS) + 1
        assert pool.stats.evictions == {"silent": 1}


async def test_pod_that_missed_one_probe_keeps_its_sessions_and_is_used_again() -> None:
    truth, deaf_now = Truth(), asyncio.Event()

    async def behave(peer: Peer) -> None:
        await peer.handshake()
        while True:
            if deaf_now.is_set():
                await asyncio.sleep(PROBE_SECONDS + PROBE_DEADLINE_SECONDS + 3)
                deaf_now.clear()
            request = await peer.receive()
            await peer.say(request, truth(request))

    async with FakePods(behave) as pods, pods.pool() as pool:
        async with pool.session("source", LIMITS, max_turns=5) as session:
            deaf_now.set()
            await session.step("x")
            await asyncio.sleep(PROBE_SECONDS + PROBE_DEADLINE_SECONDS + 1)
            with pytest.raises(NoCapacity, match="probes unanswered"):
                await play(pool, wait_seconds=1.0)
            await asyncio.sleep(PROBE_SECONDS)
            await session.step("y")
        await play(pool)
        assert pool.stats.evictions == {}
    assert len(pods.peers[0]) == 1


async def test_pod_that_loses_session_after_session_is_given_up() -> None:
    async with FakePods(lying("step", None), lying("open", refusal("capacity"))) as pods, pods.pool() as pool:
        for _ in range(MAX_STRIKES):
            with pytest.raises(SandboxLost):
                await play(pool, wait_seconds=100)
        with pytest.raises(NoCapacity, match=f"lost {MAX_STRIKES} sessions in a row"):
            await play(pool, wait_seconds=0.1)
        assert pool.stats.evictions == {"losing": 1}


async def test_programs_that_fail_are_no_reason_to_give_a_pod_up() -> None:
    async with FakePods(lying("step", refusal("crash"))) as pods, pods.pool() as pool:
        for _ in range(20):
            with pytest.raises(ProgramCrash):
                await play(pool)
        assert pool.stats.evictions == {}
        assert pool.stats.sessions == {"crash": 20}
    assert len(pods.peers[0]) == 1


async def test_pod_that_does_not_close_sessions_is_given_up_like_one_that_loses_them() -> None:
    async with FakePods(lying("close", None)) as pods, pods.pool() as pool:
        for _ in range(MAX_STRIKES):
            await play(pool)
        assert pool.stats.evictions == {"losing": 1}


def pauses(times: list[float]) -> list[float]:
    """Seconds between tries to connect."""
    return [later - sooner for sooner, later in pairwise(times)]


async def test_pod_that_is_away_is_tried_again_less_and_less_often() -> None:
    async with FakePods(None) as pods, pods.pool():
        await asyncio.sleep(120)
    seen = pauses(pods.dialled[0])
    assert seen[0] < 1
    assert max(seen) <= 1.5 * RECONNECT_SECONDS[-1]
    assert len(seen) > 120 / (1.5 * RECONNECT_SECONDS[-1]), "it is never given up for good"


async def test_liar_is_left_alone_for_longer_than_one_that_was_lost() -> None:
    async with FakePods(lying("open", "mischief")) as pods, pods.pool() as pool:
        with pytest.raises((NoCapacity, SandboxLost)):
            await play(pool, wait_seconds=300)
        assert pool.stats.evictions["violation"] >= 3
    seen = pauses(pods.dialled[0])
    assert min(seen) >= 0.5 * DISTRUST_SECONDS[0]
    assert seen[2] >= 0.5 * DISTRUST_SECONDS[2]


async def test_pod_is_believed_again_once_a_session_went_well() -> None:
    truth, well = Truth(), False

    def reformed(request: Json) -> Said:
        return truth(request) if well or request["op"] != "open" else "mischief"

    async with FakePods(answering(reformed)) as pods, pods.pool() as pool:
        with pytest.raises((NoCapacity, SandboxLost)):
            await play(pool, wait_seconds=100)
        well = True
        await play(pool, wait_seconds=300)
        well = False
        tries = len(pods.dialled[0])
        with pytest.raises((NoCapacity, SandboxLost)):
            await play(pool, wait_seconds=60)
        assert len(pods.dialled[0]) > tries + 1, "the pauses are short again"


async def test_restarted_pod_is_a_new_one_that_holds_no_source() -> None:
    seen: list[tuple[str, str]] = []

    def boot(name: str) -> Said:
        return {"ok": {"op": "hello", "version": PROTOCOL_VERSION, "boot_id": name * 8, "load": LOAD}}

    def booted(name: str) -> Behaviour:
        truth = Truth()

        def answer(request: Json) -> Said:
            seen.append((name, request["op"]))
            return boot(name) if request["op"] == "hello" else truth(request)

        return answering(answer)

    async with FakePods(booted("a")) as pods, pods.pool() as pool:
        assert (await play(pool)).endswith("/aaaaaaaa")
        pods.behaviours[0] = booted("b")
        await pods.peers[0][0].raw(b"\xff\xff")
        await until(lambda: len(pods.peers[0]) == 2)
        assert (await play(pool)).endswith("/bbbbbbbb")
    assert [entry for entry in seen if entry[1] == "put"] == [("a", "put"), ("b", "put")]


async def test_boot_id_that_is_told_again_in_mid_connection_is_not_believed() -> None:
    truth = Truth()

    async def behave(peer: Peer) -> None:
        await peer.handshake()
        while True:
            request = await peer.receive()
            if request["op"] == "step":
                await peer.say(
                    {"id": 1}, {"ok": {"op": "hello", "version": PROTOCOL_VERSION, "boot_id": "c" * 8, "load": LOAD}}
                )
            await peer.say(request, truth(request))

    async with FakePods(behave) as pods, pods.pool() as pool:
        with pytest.raises(SandboxLost, match="not asked"):
            await play(pool)


async def test_pings_of_a_pod_are_answered() -> None:
    answered = asyncio.Event()

    async def behave(peer: Peer) -> None:
        await peer.handshake()
        await peer.say(await peer.receive(), Truth()({"op": "hello"}))
        await peer.raw(frame(b"1234", PING))
        while True:
            opcode, payload = await peer.receive_frame()
            if (opcode, payload) == (PONG, b"1234"):
                answered.set()

    async with FakePods(behave) as pods, pods.pool():
        await asyncio.wait_for(answered.wait(), 60)
