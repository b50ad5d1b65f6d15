"""The watch over all cells: memory, processes and files of each, as the pod's process table shows them.

The cell's own limits should hold already; the watch is the second wall, for what they do not count (shared pages) and
for a kernel that counts otherwise. Only the number of files is its alone: gVisor's tmpfs has no limit of inodes.
"""

import asyncio
import os
import resource
from collections.abc import Iterable
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
_PARENT, _RESIDENT_PAGES = 1, 21


@dataclass(frozen=True)
class Process:
    """One line of the process table."""

    parent: int
    resident_bytes: int


def process_table(root: Path = Path("/proc")) -> dict[int, Process]:
    """All processes of this pod by id; those that end while it is read are left out."""
    table: dict[int, Process] = {}
    page = resource.getpagesize()
    for entry in os.scandir(root):
        if entry.name.isdigit():
            try:
                text = _read(f"{root}/{entry.name}/stat")
            except OSError:
                continue
            fields = text[text.rindex(b")") + 1 :].split()  # the name before may hold anything
            table[int(entry.name)] = Process(int(fields[_PARENT]), int(fields[_RESIDENT_PAGES]) * page)
    return table


def _read(path: str) -> bytes:
    """With three system calls, where Python's own files take ten."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, STAT_BYTES)
    finally:
        os.close(descriptor)


def count_files(process: int, root: Path = Path("/proc")) -> int:
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


async def watch_cells(cells: Iterable[Cell]) -> None:
    """Kill cells that hold more than they may. Runs until cancelled; `cells` is read anew each period."""
    while True:
        await asyncio.sleep(PERIOD_SECONDS)
        table = process_table()
        for cell in list(cells):
            reason = breach(cell, table, count_files(cell.process) if cell.bounds else 0)
            if reason is not None and not cell.ended.done():
                await cell.destroy(reason)
