"""The watch kills a cell for what its own limits might not count, and leaves the others."""

import asyncio
import os
from pathlib import Path

import pytest

from spade_contracts.protocol import FaultKind
from spade_sandbox.pod.supervisor import Cell
from spade_sandbox.pod.watch import SLACK_BYTES, Process, breach, process_table

BASE, LIMIT = 100 * 2**20, 64 * 2**20


async def cell(memory_bytes: int | None = LIMIT) -> Cell:
    """A cell that is process 10."""
    reader = asyncio.StreamReader()
    return Cell(1, 10, reader, None, asyncio.get_running_loop().create_future(), lambda: None, memory_bytes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("extra", "kind"), [(0, None), (SLACK_BYTES, None), (SLACK_BYTES + 1, FaultKind.MEMORY)])
async def test_memory_beyond_limit_and_slack_is_a_breach(extra: int, kind: FaultKind | None) -> None:
    table = {10: Process(parent=1, resident_bytes=BASE + LIMIT + extra)}
    found = breach(await cell(), table, BASE)
    assert (found.kind if found else None) is kind


async def test_second_process_in_a_cell_is_a_breach() -> None:
    table = {10: Process(1, BASE), 11: Process(10, 1)}
    found = breach(await cell(), table, BASE)
    assert found is not None
    assert found.kind is FaultKind.CRASH


async def test_cell_without_a_program_or_already_gone_is_left_alone() -> None:
    assert breach(await cell(None), {10: Process(1, BASE * 100)}, BASE) is None
    assert breach(await cell(), {}, BASE) is None


def test_process_table_holds_this_process() -> None:
    mine = process_table()[os.getpid()]
    assert mine.parent == os.getppid()
    assert mine.resident_bytes > 2**20


def test_process_names_cannot_confuse_the_table(tmp_path: Path) -> None:
    fields = " ".join(["S", "42"] + ["0"] * 19 + ["7"] + ["0"] * 20)
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "stat").write_text(f"5 (a) R 1 (b)) {fields}\n")
    (tmp_path / "6").mkdir()
    (tmp_path / "self").mkdir()
    table = process_table(tmp_path)
    assert table.keys() == {5}
    assert table[5].parent == 42
    assert table[5].resident_bytes > 0
