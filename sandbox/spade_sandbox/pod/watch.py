"""The watch over all cells: memory, processes and files of each, as the pod's process table shows them.

The cell's own limits should hold already; the watch is the second wall, for what they do not count (shared pages) and
for a kernel that counts otherwise. Only the number of files is its alone: gVisor's tmpfs has no limit of inodes.

The pod serves nothing while it looks, and a system call costs ten microseconds in gVisor. So a look at a cell is two
calls, on a descriptor that is kept, and only other processes' entries of the table are read anew.
"""

import asyncio
import contextlib
import os
import resource
from collections.abc import Container, Iterator, Set
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from spade_contracts.protocol import FaultKind, Limit
from spade_sandbox.pod.supervisor import Cell, CellFault
from spade_sandbox.pod.walls import MAX_FILES, SCRATCH

PERIOD_SECONDS = 0.5
SLACK_BYTES = 32 * 2**20
"""Above the limit by this much at most: pages that the interpreter shares with the zygote are counted too."""
STAT_BYTES = 4096
PROC = Path("/proc")
_PARENT, _RESIDENT_PAGES, _RESIDENT_PAGES_OF_STATM = 1, 21, 1


@dataclass(frozen=True)
class Process:
    """One line of the process table."""

    parent: int
    resident_bytes: int


class Sight:
    """One loaded cell, looked at again and again. Raises FileNotFoundError or ProcessLookupError once it has gone."""

    def __init__(self, process: int, root: Path = PROC) -> None:
        self._process = process
        self._root = root
        self._parent = _read_process(process, root).parent
        self._files = 0
        self._changed_at = -1
        self._memory = os.open(f"{root}/{process}/statm", os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Look no more."""
        os.close(self._memory)

    def process(self) -> Process:
        """Its entry of the process table; whose child it is cannot change."""
        fields = os.pread(self._memory, STAT_BYTES, 0).split()
        return Process(self._parent, int(fields[_RESIDENT_PAGES_OF_STATM]) * resource.getpagesize())

    def files(self) -> int:
        """Files in its scratch folder, counted anew when the folder has changed; a program cannot set its times."""
        try:
            changed_at = os.stat(f"{self._root}/{self._process}/root{SCRATCH}").st_mtime_ns
        except OSError:
            return 0
        if changed_at != self._changed_at:
            self._files, self._changed_at = count_files(self._process, self._root), changed_at
        return self._files


def process_table(root: Path = PROC, but: Container[int] = ()) -> dict[int, Process]:
    """All processes of this pod by id, but those; such as end while it is read are left out."""
    table: dict[int, Process] = {}
    with os.scandir(root) as entries:
        numbers = [int(entry.name) for entry in entries if entry.name.isdigit()]
    for number in numbers:
        if number not in but:
            with contextlib.suppress(OSError):
                table[number] = _read_process(number, root)
    return table


def _read_process(number: int, root: Path) -> Process:
    """With three system calls, where Python's own files take ten."""
    descriptor = os.open(f"{root}/{number}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(descriptor, STAT_BYTES)
    finally:
        os.close(descriptor)
    fields = text[text.rindex(b")") + 1 :].split()  # the name before may hold anything
    return Process(int(fields[_PARENT]), int(fields[_RESIDENT_PAGES]) * resource.getpagesize())


def count_files(process: int, root: Path = PROC) -> int:
    """Files in a cell's scratch folder, counted no further than one above what is allowed; 0 once it has gone."""
    try:
        with os.scandir(f"{root}/{process}/root{SCRATCH}") as entries:
            return sum(1 for _ in islice(entries, MAX_FILES + 1))
    except OSError:
        return 0


def breach(cell: Cell, table: dict[int, Process], files: int) -> CellFault | None:
    """What a loaded cell holds against its limits, if anything. An empty one holds what its parent does, the zygote."""
    if cell.bounds is None or cell.process not in table:
        return None
    children = sum(1 for process in table.values() if process.parent == cell.process)
    if children:
        return CellFault(FaultKind.CRASH, f"the program has {children} processes beside its own", Limit.PROCESSES)
    parent = table.get(table[cell.process].parent)
    base_bytes = parent.resident_bytes if parent is not None else 0
    used, allowed = table[cell.process].resident_bytes - base_bytes, cell.bounds.memory_bytes
    if used > allowed + SLACK_BYTES:
        return CellFault(FaultKind.MEMORY, f"the program uses {used} bytes; {allowed} are allowed", Limit.MEMORY)
    if files > MAX_FILES:
        return CellFault(FaultKind.CRASH, f"the program has more than {MAX_FILES} files", Limit.FILE_BYTES)
    return None


async def watch_cells(cells: Set[Cell]) -> None:
    """Kill cells that hold more than they may. Runs until cancelled; `cells` is read anew each period."""
    sights: dict[Cell, Sight] = {}
    try:
        while True:
            await asyncio.sleep(PERIOD_SECONDS)
            _follow(cells, sights)
            for cell, reason in list(_breaches(sights)):
                if not cell.ended.done():
                    await cell.destroy(reason)
    finally:
        _follow(frozenset(), sights)


def _follow(cells: Set[Cell], sights: dict[Cell, Sight]) -> None:
    """Look at loaded cells from now on, and no longer at others."""
    for cell in sights.keys() - cells:
        sights.pop(cell).close()
    for cell in cells - sights.keys():
        if cell.bounds is not None:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                sights[cell] = Sight(cell.process)


def _breaches(sights: dict[Cell, Sight]) -> Iterator[tuple[Cell, CellFault]]:
    """The cells that hold more than they may, and what it is."""
    table = process_table(but={cell.process for cell in sights})
    files: dict[Cell, int] = {}
    for cell, sight in sights.items():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            table[cell.process], files[cell] = sight.process(), sight.files()
    for cell, count in files.items():
        reason = breach(cell, table, count)
        if reason is not None:
            yield cell, reason
