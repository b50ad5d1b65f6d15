"""The watch kills a cell for what its own limits might not count, and leaves the others."""

import asyncio
import os
import resource
import signal
from pathlib import Path

import pytest

from spade_contracts.protocol import FaultKind, Limit
from spade_sandbox.pod.supervisor import Cell, CellBounds, Ended
from spade_sandbox.pod.walls import MAX_FILES
from spade_sandbox.pod.watch import SLACK_BYTES, Process, Sight, breach, count_files, process_table

BASE, LIMIT = 100 * 2**20, 64 * 2**20
ZYGOTE = 7


async def cell(loaded: bool = True) -> Cell:
    """A cell that is process 10."""
    bounds = CellBounds(memory_bytes=LIMIT, cpu_seconds=60, output_bytes=0, text_characters=100) if loaded else None
    ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
    return Cell(1, 10, None, None, ended, lambda: None, None, bounds)  # type: ignore[arg-type]


@pytest.mark.parametrize(("extra", "kind"), [(0, None), (SLACK_BYTES, None), (SLACK_BYTES + 1, FaultKind.MEMORY)])
async def test_memory_beyond_limit_and_slack_is_a_breach(extra: int, kind: FaultKind | None) -> None:
    table = {ZYGOTE: Process(1, BASE), 10: Process(parent=ZYGOTE, resident_bytes=BASE + LIMIT + extra)}
    found = breach(await cell(), table, files=0)
    assert (found.kind if found else None) is kind


async def test_cell_is_measured_against_the_zygote_that_it_comes_from() -> None:
    lean, other, zygotes = 2**20, 8, {ZYGOTE: Process(1, BASE), 8: Process(1, 2**20)}
    held = lean + LIMIT + SLACK_BYTES + 1
    assert breach(await cell(), {**zygotes, 10: Process(ZYGOTE, held)}, files=0) is None
    assert breach(await cell(), {**zygotes, 10: Process(other, held)}, files=0) is not None


async def test_second_process_in_a_cell_is_a_breach() -> None:
    table = {ZYGOTE: Process(1, BASE), 10: Process(ZYGOTE, BASE), 11: Process(10, 1)}
    found = breach(await cell(), table, files=0)
    assert found is not None
    assert (found.kind, found.limit) == (FaultKind.CRASH, Limit.PROCESSES)


@pytest.mark.parametrize(("files", "limit"), [(MAX_FILES, None), (MAX_FILES + 1, Limit.FILE_BYTES)])
async def test_more_files_than_allowed_are_a_breach(files: int, limit: Limit | None) -> None:
    found = breach(await cell(), {ZYGOTE: Process(1, BASE), 10: Process(ZYGOTE, BASE)}, files)
    assert (found.limit if found else None) is limit


def test_files_are_counted_no_further_than_the_answer_needs(tmp_path: Path) -> None:
    scratch = tmp_path / "5" / "root" / "tmp"
    scratch.mkdir(parents=True)
    assert count_files(5, tmp_path) == 0
    for number in range(MAX_FILES + 10):
        (scratch / str(number)).touch()
    assert count_files(5, tmp_path) == MAX_FILES + 1
    assert count_files(6, tmp_path) == 0, "a cell that has gone holds no files"


async def test_cell_without_a_program_or_already_gone_is_left_alone() -> None:
    assert breach(await cell(loaded=False), {10: Process(1, BASE * 100)}, files=0) is None
    assert breach(await cell(), {}, files=0) is None


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


def test_processes_that_are_looked_at_otherwise_are_not_read() -> None:
    mine = os.getpid()
    assert mine not in process_table(but={mine})
    assert os.getppid() in process_table(but={mine})


def test_sight_of_a_process_is_its_entry_of_the_table() -> None:
    sight = Sight(os.getpid())
    seen, entry = sight.process(), process_table()[os.getpid()]
    assert seen.parent == entry.parent
    assert abs(seen.resident_bytes - entry.resident_bytes) < 8 * 2**20, "the kernel counts in lots"
    sight.close()


def test_process_that_has_gone_is_not_seen() -> None:
    child = os.fork()
    if child == 0:
        signal.pause()
    sight = Sight(child)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with pytest.raises((FileNotFoundError, ProcessLookupError)):
        sight.process()
    assert sight.files() == 0
    sight.close()
    with pytest.raises((FileNotFoundError, ProcessLookupError)):
        Sight(child)


def test_files_made_and_removed_since_the_last_look_are_seen(tmp_path: Path) -> None:
    entry = tmp_path / "5"
    scratch = entry / "root" / "tmp"
    scratch.mkdir(parents=True)
    (entry / "stat").write_text("5 (a) R 1 " + "0 " * 40)
    (entry / "statm").write_text("9 3 0 0 0 0 0\n")
    sight = Sight(5, tmp_path)
    assert sight.process() == Process(1, 3 * resource.getpagesize())
    counts = []
    for number in range(3):
        (scratch / str(number)).touch()
        os.utime(scratch, ns=(0, number))  # whatever the resolution of this file system's times
        counts.append(sight.files())
    (scratch / "0").unlink()
    counts.append(sight.files())
    sight.close()
    assert counts == [1, 2, 3, 2]
