"""The watch over all cells: memory and processes of each, read from the pod's process table.

The cell's own limits should hold already; the watch is the second wall, for what they do not count (shared pages,
scratch files) and for a kernel that counts otherwise.
"""

import asyncio
import os
import resource
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spade_contracts.protocol import FaultKind
from spade_sandbox.pod.supervisor import Cell, CellFault

PERIOD_SECONDS = 1.0
SLACK_BYTES = 32 * 2**20
"""Above the limit by this much at most: pages that the interpreter shares with the zygote are counted too."""
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
                text = (root / entry.name / "stat").read_text("utf-8", "replace")
            except OSError:
                continue
            fields = text[text.rindex(")") + 1 :].split()  # the name before may hold anything
            table[int(entry.name)] = Process(int(fields[_PARENT]), int(fields[_RESIDENT_PAGES]) * page)
    return table


def breach(cell: Cell, table: dict[int, Process], base_bytes: int) -> CellFault | None:
    """What a loaded cell holds against its limits, if anything. `base_bytes` is what an empty cell uses."""
    if cell.memory_bytes is None or cell.process not in table:
        return None
    children = sum(1 for process in table.values() if process.parent == cell.process)
    if children:
        return CellFault(FaultKind.CRASH, f"the program has {children} processes beside its own")
    used = table[cell.process].resident_bytes - base_bytes
    if used > cell.memory_bytes + SLACK_BYTES:
        return CellFault(FaultKind.MEMORY, f"the program uses {used} bytes; {cell.memory_bytes} are allowed")
    return None


async def watch_cells(cells: Iterable[Cell], zygote_process: int) -> None:
    """Kill cells that hold more than they may. Runs until cancelled; `cells` is read anew each period."""
    while True:
        await asyncio.sleep(PERIOD_SECONDS)
        table = process_table()
        base = table[zygote_process].resident_bytes if zygote_process in table else 0
        for cell in list(cells):
            if (reason := breach(cell, table, base)) is not None and not cell.ended.done():
                await cell.destroy(reason)
