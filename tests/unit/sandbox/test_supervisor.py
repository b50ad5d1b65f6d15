"""Whatever a cell says, the supervisor passes on a valid answer or ends the session as the program's own fault."""

import asyncio
import json
import os
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.deadlines import Deadlines
from spade_contracts.protocol import PROGRAM_FAULTS, FaultKind, Limit, StepResult
from spade_sandbox.pod.line import Line
from spade_sandbox.pod.output import Output
from spade_sandbox.pod.supervisor import Cell, CellBounds, CellFault, Ended

BOUNDS = CellBounds(memory_bytes=2**20, cpu_seconds=10, output_bytes=1000, text_characters=100)
STEP = {"op": "step", "action": "x"}
RESULT = {"op": "step", "observation": "on", "reward": 0.5, "terminated": False, "truncated": False, "info": {}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*RESULT, "id", "ok", "error"]), inner),
    max_leaves=8,
)


@asynccontextmanager
async def cell(bounds: CellBounds | None = BOUNDS) -> AsyncIterator[tuple[Cell, socket.socket, int]]:
    """A cell with the program's ends of its socket and of its output; it ends when it is killed."""
    ours, theirs = socket.socketpair()
    read_end, write_end = os.pipe()
    ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()

    def kill() -> None:
        if not ended.done():
            ended.set_result(Ended(9, 0.0))

    held = Cell(1, 10, Line(ours), Output(read_end), ended, kill, Deadlines(), bounds, ending_seconds=0.01)
    try:
        yield held, theirs, write_end
    finally:
        kill()
        await held.destroy(None)
        theirs.close()
        os.close(write_end)


def frame(data: bytes) -> bytes:
    """As cells send it."""
    return struct.pack(">I", len(data)) + data


def words(number: int = 1, **answer: object) -> bytes:
    """An answer to one question."""
    return frame(json.dumps({"id": number, **answer}).encode())


async def asked(said: bytes) -> CellFault | StepResult:
    """What comes of a step to which the cell says this, and then no more."""
    async with cell() as (held, theirs, _):
        theirs.sendall(said)
        theirs.shutdown(socket.SHUT_WR)
        try:
            answer = await held.ask(STEP, 20.0)
        except CellFault as error:
            assert held.ended.done(), "a fault leaves no process"
            return error
        assert isinstance(answer.ok, StepResult)
        return answer.ok


@given(st.binary(max_size=60) | JSON.map(lambda value: frame(json.dumps(value).encode())))
def test_no_word_of_a_cell_is_more_than_an_answer_or_a_fault_of_its_program(said: bytes) -> None:
    outcome = asyncio.run(asked(said))
    assert isinstance(outcome, StepResult) or outcome.kind in PROGRAM_FAULTS


@given(st.dictionaries(st.sampled_from(sorted(RESULT)), JSON, max_size=2))
def test_result_of_other_types_is_no_answer(parts: dict[str, Any]) -> None:
    outcome = asyncio.run(asked(words(ok={**RESULT, **parts})))
    if isinstance(outcome, StepResult):
        assert len(outcome.observation) <= BOUNDS.text_characters
    else:
        assert outcome.kind in PROGRAM_FAULTS


@pytest.mark.parametrize("kind", sorted(set(FaultKind) - PROGRAM_FAULTS))
async def test_fault_that_only_we_may_tell_is_the_programs_own(kind: FaultKind) -> None:
    outcome = await asked(words(error={"kind": kind, "message": "not me"}))
    assert isinstance(outcome, CellFault)
    assert outcome.kind is FaultKind.CRASH


@pytest.mark.parametrize(
    ("said", "kind", "limit"),
    [
        (words(ok={**RESULT, "observation": "x" * 101}), "invalid_return", Limit.OBSERVATION),
        (struct.pack(">I", 2**31), "invalid_return", Limit.OBSERVATION),
        (words(error={"kind": "memory", "message": "", "limit": "memory"}), "memory", Limit.MEMORY),
        (words(2, ok=RESULT), "crash", None),
        (words(ok={"op": "solution", "text": "x"}), "crash", None),
    ],
)
async def test_each_misfit_has_its_fault(said: bytes, kind: str, limit: Limit | None) -> None:
    outcome = await asked(said)
    assert isinstance(outcome, CellFault)
    assert (outcome.kind, outcome.limit) == (kind, limit)


@pytest.mark.parametrize(
    ("how", "kind", "limit"),
    [
        (Ended(31, 0.1), FaultKind.CRASH, Limit.PROCESSES),
        (Ended(9, 0.1), FaultKind.MEMORY, Limit.MEMORY),
        (Ended(9, 9.9), FaultKind.TIMEOUT, Limit.CPU),
        (Ended(24, 10.1), FaultKind.TIMEOUT, Limit.CPU),
        (Ended(11, 0.1), FaultKind.CRASH, None),
        (Ended(0, 0.1), FaultKind.CRASH, None),
    ],
)
async def test_end_of_a_process_says_which_limit_ended_it(how: Ended, kind: FaultKind, limit: Limit | None) -> None:
    async with cell() as (held, theirs, _):
        theirs.close()
        held.ended.set_result(how)
        with pytest.raises(CellFault) as error:
            await held.ask(STEP, 20.0)
    assert (error.value.kind, error.value.limit) == (kind, limit)


async def test_program_that_closes_its_socket_and_goes_on_is_killed_as_a_crash() -> None:
    async with cell() as (held, theirs, _):
        theirs.close()
        with pytest.raises(CellFault) as error:
            await held.ask(STEP, 20.0)
        assert held.ended.done()
    assert (error.value.kind, error.value.limit) == (FaultKind.CRASH, None)


async def test_answer_after_the_deadline_is_a_timeout() -> None:
    async with cell() as (held, _, _):
        with pytest.raises(CellFault) as error:
            await held.ask(STEP, 0.01)
    assert (error.value.kind, error.value.limit) == (FaultKind.TIMEOUT, Limit.WALL)


async def test_deadline_of_an_order_sent_ahead_counts_from_the_answer_before_it() -> None:
    async with cell() as (held, theirs, _):
        late = asyncio.ensure_future(held.ask(STEP, 60.0))
        await asyncio.sleep(0)
        ahead = asyncio.ensure_future(held.ask(STEP, 0.3))
        await asyncio.sleep(1)
        assert not ahead.done(), "its own work has not begun"
        theirs.sendall(words(1, ok=RESULT))
        assert (await late).id == 1
        with pytest.raises(CellFault, match=r"0\.3 s"):
            await ahead


async def test_after_a_fault_nothing_is_answered_that_was_sent_ahead() -> None:
    async with cell() as (held, theirs, _):
        answers: list[object] = []
        for _ in range(3):
            held.ask_soon(STEP, 20.0, answers.append)
        theirs.sendall(words(1, ok=RESULT) + words(2, error={"kind": "crash", "message": "no"}) + words(3, ok=RESULT))
        assert str(await _death(held)) == "no"
        assert len(answers) == 2
        assert answers[-1] is None


async def _death(held: Cell) -> CellFault:
    async with asyncio.timeout(20):
        await asyncio.shield(held.ended)
    return await held.bury()


async def test_too_much_output_ends_the_program_whatever_it_answers() -> None:
    async with cell(bounds=None) as (held, theirs, output):
        theirs.sendall(words(built=True))
        await held.build({}, BOUNDS)
        os.write(output, b"x" * (BOUNDS.output_bytes + 1))
        theirs.sendall(words(2, ok=RESULT))
        with pytest.raises(CellFault) as error:
            await held.ask(STEP, 20.0)
    assert error.value.limit is Limit.OUTPUT


async def test_output_up_to_the_limit_is_no_fault() -> None:
    async with cell(bounds=None) as (held, theirs, output):
        theirs.sendall(words(built=True))
        await held.build({}, BOUNDS)
        os.write(output, b"x" * BOUNDS.output_bytes)
        theirs.sendall(words(2, ok=RESULT))
        assert (await held.ask(STEP, 20.0)).ok is not None


async def test_cell_that_cannot_be_built_is_our_fault_and_nobodys_program() -> None:
    async with cell(bounds=None) as (held, theirs, _):
        theirs.sendall(words(0, error={"kind": "lost", "message": "no namespaces"}))
        with pytest.raises(CellFault, match="no namespaces") as error:
            await held.build({}, BOUNDS)
    assert error.value.kind is FaultKind.LOST
