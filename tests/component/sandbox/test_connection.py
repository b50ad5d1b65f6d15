"""What a pod's port does with peers of all manners: early, chopped, greedy, deaf and impolite ones."""

import asyncio
import base64
import hashlib
import os
from typing import Any

import pytest
from tests.component.sandbox.programs import PROGRAMS, stepping
from tests.support.sandbox_pods import TOKEN, RunningPod, eventually
from websockets.asyncio.client import ClientConnection, connect
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.protocol import (
    PROTOCOL_VERSION,
    Answer,
    Close,
    FaultKind,
    Hello,
    Limit,
    Look,
    LookResult,
    Open,
    OpenResult,
    Put,
    Request,
    Reset,
    Step,
)

GOOD = (PROGRAMS / "good" / "number_search.py").read_text()
LIMITS = SandboxLimits(step_seconds=60, load_seconds=60)
HELLO = Hello(id=1, version=PROTOCOL_VERSION, token=TOKEN)
SECONDS = 300.0


async def ask(socket: ClientConnection, request: Request) -> Answer:
    """One request and its answer."""
    await socket.send(request.model_dump_json())
    return Answer.model_validate_json(await socket.recv())


async def greeted(pod: RunningPod, **settings: Any) -> ClientConnection:
    """A connection of a worker that said hello."""
    socket = await connect(f"ws://{pod.target}", proxy=None, max_size=None, **settings)
    assert (await ask(socket, HELLO)).ok is not None
    return socket


async def opened(socket: ClientConnection, source: str, limits: SandboxLimits = LIMITS) -> int:
    """The number of a new session of this program, reset."""
    sha256 = hashlib.sha256(source.encode()).hexdigest()
    await ask(socket, Put(id=2, sha256=sha256, source=source))
    answer = await ask(socket, Open(id=3, sha256=sha256, domain=Domain.GAMES, limits=limits, max_turns=1000))
    assert isinstance(answer.ok, OpenResult), answer
    await ask(socket, Reset(id=4, session=answer.ok.session, seed=1))
    return answer.ok.session


async def test_hello_that_comes_in_one_piece_with_the_handshake_is_answered(pod: RunningPod) -> None:
    host, port = pod.target.split(":")
    protocol = ClientProtocol(parse_uri(f"ws://{pod.target}"))
    protocol.send_request(protocol.connect())
    hello = Frame(Opcode.TEXT, HELLO.model_dump_json().encode()).serialize(mask=True, extensions=[])
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"".join(protocol.data_to_send()) + hello)
        said = await reader.readuntil(b"\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 101 ")
        assert b'"hello"' in await reader.readuntil(b'"hello"')
        writer.close()


async def test_message_in_pieces_ends_the_connection(pod: RunningPod) -> None:
    async with asyncio.timeout(SECONDS):
        socket = await greeted(pod)
        await socket.send(["{", "}"])
        with pytest.raises(ConnectionClosed, match="one piece"):
            await socket.recv()


@pytest.mark.parametrize("first", [Look(id=1), HELLO.model_copy(update={"token": "another"})])
async def test_who_does_not_greet_is_told_and_sent_away(pod: RunningPod, first: Request) -> None:
    async with asyncio.timeout(SECONDS):
        socket = await connect(f"ws://{pod.target}", proxy=None)
        answer = await ask(socket, first)
        assert answer.error is not None
        assert answer.error.kind in {FaultKind.BAD_REQUEST, FaultKind.UNAUTHORIZED}
        with pytest.raises(ConnectionClosed):
            await socket.recv()


async def test_thousands_of_messages_before_a_greeting_have_one_answer_and_hold_nobody_up(pod: RunningPod) -> None:
    async with asyncio.timeout(SECONDS):
        socket = await connect(f"ws://{pod.target}", proxy=None)
        tiny = Frame(Opcode.TEXT, b"").serialize(mask=True, extensions=[])
        socket.transport.write(tiny * 40_000 + Frame(Opcode.TEXT, b"{}").serialize(mask=True, extensions=[]))
        answers = [message async for message in socket]
        assert len(answers) == 1
        other = await greeted(pod)
        await opened(other, GOOD)
        await other.close()


async def test_every_one_of_thousands_of_requests_is_answered_once(pod: RunningPod) -> None:
    """Far more than the pod takes at a time, sent before the first answer is read."""
    async with asyncio.timeout(SECONDS):
        socket = await greeted(pod, max_queue=None)
        count = 5_000
        sending = asyncio.ensure_future(_send(socket, [Look(id=number) for number in range(10, 10 + count)]))
        seen = [Answer.model_validate_json(await socket.recv()) for _ in range(count)]
        await sending
        assert sorted(answer.id for answer in seen) == list(range(10, 10 + count))
        assert all(isinstance(answer.ok, LookResult) for answer in seen)
        await socket.close()


async def test_operations_of_a_session_sent_at_once_run_in_their_order(pod: RunningPod) -> None:
    async with asyncio.timeout(SECONDS):
        socket = await greeted(pod)
        session = await opened(socket, stepping("pass"))
        await _send(socket, [Step(id=number, session=session, action="x") for number in range(10, 40)])
        seen = [Answer.model_validate_json(await socket.recv()) for _ in range(30)]
        assert [answer.id for answer in seen] == list(range(10, 40))
        assert [answer.ok.observation for answer in seen] == [f"turn {n}" for n in range(1, 31)]  # type: ignore[union-attr]
        await socket.close()


async def test_pod_refuses_an_action_that_a_client_did_not_cut_and_the_session_lives_on(pod: RunningPod) -> None:
    async with asyncio.timeout(SECONDS):
        socket = await greeted(pod)
        session = await opened(socket, GOOD, LIMITS.model_copy(update={"action_characters": 100}))
        refused = (await ask(socket, Step(id=5, session=session, action="x" * 101))).error
        assert refused is not None
        assert (refused.kind, refused.limit) == (FaultKind.BAD_REQUEST, Limit.ACTION)
        assert (await ask(socket, Step(id=6, session=session, action="x" * 100))).ok
        await socket.close()


async def test_operations_behind_a_fault_are_answered_with_it_however_many(pod: RunningPod) -> None:
    async with asyncio.timeout(SECONDS):
        socket = await greeted(pod, max_queue=None)
        session = await opened(socket, stepping("raise ValueError"))
        numbers = range(10, 2_000)
        await _send(socket, [Step(id=number, session=session, action="x") for number in numbers])
        seen = [Answer.model_validate_json(await socket.recv()) for _ in numbers]
        assert [answer.id for answer in seen] == list(numbers)
        assert {answer.error.kind for answer in seen if answer.error is not None} == {FaultKind.CRASH}
        assert (await ask(socket, Close(id=13, session=session))).ok is not None
        await socket.close()


async def test_answers_that_a_program_gave_in_advance_are_answers_to_no_question(pod: RunningPod) -> None:
    """It guesses the numbers of the next ones; whatever comes of it, the pod lives and each request has one answer."""
    forge = """import json, os, struct
for number in range(self.turns + 3, self.turns + 500):
    told = json.dumps({"id": number, "ok": {"op": "step", "observation": "", "reward": 1.0, "terminated": False,
                                            "truncated": False, "info": {}}}).encode()
    os.write(3, struct.pack(">I", len(told)) + told)"""
    async with asyncio.timeout(SECONDS):
        socket = await greeted(pod, max_queue=None)
        session = await opened(socket, stepping(forge))
        numbers = range(10, 410)
        await _send(socket, [Step(id=number, session=session, action="x") for number in numbers])
        seen = [Answer.model_validate_json(await socket.recv()) for _ in numbers]
        assert sorted(answer.id for answer in seen) == list(numbers)
        await socket.close()


async def test_worker_that_reads_nothing_holds_nobody_else_up_and_its_sessions_end_with_it(pod: RunningPod) -> None:
    async with asyncio.timeout(SECONDS):
        deaf = await greeted(pod, max_queue=1)
        session = await opened(deaf, stepping("return 'x' * 20_000, 0.0, False, False, {}"))
        steps = [Step(id=number, session=session, action="y" * 1000) for number in range(10, 3_000)]
        flood = asyncio.ensure_future(_send(deaf, steps))
        other = await greeted(pod)
        number = await opened(other, GOOD)
        for turn in range(50):
            assert (await ask(other, Step(id=20 + turn, session=number, action=r"\boxed{1}"))).ok is not None
        flood.cancel()
        deaf.transport.abort()
        await ask(other, Close(id=99, session=number))
        await asyncio.to_thread(eventually, "all sessions have ended", lambda: not pod.status().sessions)
        await other.close()


async def test_bytes_that_are_no_websocket_are_refused(pod: RunningPod) -> None:
    host, port = pod.target.split(":")
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(base64.b64encode(os.urandom(300)) + b"\r\n\r\n")
        assert b"101" not in (await reader.read())[:20]
        writer.close()


async def _send(socket: ClientConnection, requests: list[Any]) -> None:
    for request in requests:
        await socket.send(request.model_dump_json())
