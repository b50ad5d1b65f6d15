"""A memory control group of its own for a pod: what it holds, and a limit that is enforced. Needs root."""

import contextlib
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

REMOVE_SECONDS = 30.0
_V1, _V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


class MemoryGroup:
    """Processes that `launcher` starts, and all that they start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        script = f'echo $$ > {folder / "cgroup.procs"}; exec "$0" "$@"'
        self.launcher = ("sh", "-c", script)

    def used_mib(self) -> float:
        """Anonymous and shared memory; file pages are not counted, since they can be dropped at any time."""
        table = dict(line.split() for line in (self._folder / "memory.stat").read_text().splitlines())
        anonymous = table.get("total_rss") or table["anon"]
        shared = table.get("total_shmem") or table.get("shmem") or "0"
        return (int(anonymous) + int(shared)) / 2**20


@contextlib.contextmanager
def memory_group(limit_bytes: int) -> Iterator[MemoryGroup]:
    """A fresh group, removed at the end; its processes must be gone by then."""
    old = (_V1 / "memory.limit_in_bytes").exists()
    folder = (_V1 if old else _V2) / f"spade-bench-{secrets.token_hex(4)}"
    folder.mkdir()
    try:
        (folder / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(limit_bytes))
        yield MemoryGroup(folder)
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    """Killed processes leave their group only when the kernel is done with them."""
    deadline = time.monotonic() + REMOVE_SECONDS
    while True:
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
