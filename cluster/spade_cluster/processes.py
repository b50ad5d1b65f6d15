"""Start programs in the background and stop them later, without ever touching a process that is not ours.

A record on disk names the process by its id, its start time and the machine's boot id. A process id that meanwhile
belongs to another program has another start time, so a stale record can neither hide that a component is dead nor get
a stranger killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import subprocess
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from pathlib import Path

from spade_cluster.commands import wait_until
from spade_cluster.errors import ClusterError

MAX_LOG_BYTES = 20 << 20


@dataclass(frozen=True)
class Program:
    """What a component runs, and how to tell that it works.

    config_files: files whose content is part of the component, so that a change restarts it.
    environment: the whole environment of the process; nothing is inherited.
    ready: asked until it is true; must not raise.
    """

    name: str
    command: tuple[str, ...]
    ready: Callable[[], bool]
    config_files: tuple[Path, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    ready_seconds: float = 180.0


@dataclass(frozen=True)
class Record:
    """A process that was started: id, start in clock ticks since boot, boot id, and a fingerprint of its command."""

    pid: int
    start_ticks: int
    boot_id: str
    fingerprint: str


def boot_id() -> str:
    """Return the kernel's id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The program's name may hold spaces and brackets, so count fields from the last bracket.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def fingerprint(program: Program) -> str:
    """Hash the command, the environment, the executable's identity and the configuration's content."""
    digest = hashlib.sha256(json.dumps([program.command, program.environment]).encode())
    for path in program.config_files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def read_record(folder: Path, name: str) -> Record | None:
    """Return what was recorded for a component; None without a readable record."""
    try:
        return Record(**json.loads((folder / f"{name}.json").read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def is_alive(record: Record | None) -> bool:
    """Tell whether the recorded process still runs and is still the one that was started."""
    return record is not None and record.boot_id == boot_id() and start_ticks(record.pid) == record.start_ticks


def ensure_running(program: Program, *, records: Path, logs: Path) -> bool:
    """Start the program unless it already runs from the same command and configuration. True if it was started now.

    Raises ClusterError with the end of its log when it dies or is not ready in time.
    """
    wanted = fingerprint(program)
    record = read_record(records, program.name)
    if record is not None and is_alive(record) and record.fingerprint == wanted:
        _await_ready(program, record, logs)
        return False
    stop(program.name, records=records)
    log = logs / f"{program.name}.log"
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    with log.open("ab") as output:
        process = subprocess.Popen(
            program.command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
            env=dict(program.environment),
        )
    started = start_ticks(process.pid)
    record = Record(pid=process.pid, start_ticks=started or 0, boot_id=boot_id(), fingerprint=wanted)
    temporary = records / f".{program.name}.json"
    temporary.write_text(json.dumps(asdict(record)))
    temporary.replace(records / f"{program.name}.json")
    _await_ready(program, record, logs)
    return True


def stop(name: str, *, records: Path, grace_seconds: float = 15.0) -> bool:
    """Stop a recorded process, kindly first. True if it was running; the record is removed either way."""
    record = read_record(records, name)
    was_alive = is_alive(record)
    if record is not None and was_alive:
        terminate(record.pid, record.start_ticks, grace_seconds=grace_seconds)
    (records / f"{name}.json").unlink(missing_ok=True)
    return was_alive


def terminate(pid: int, started: int, *, grace_seconds: float) -> None:
    """SIGTERM, then SIGKILL, to exactly the process that has this id and this start time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # The handle now pins one process; only afterwards is it compared, so the id cannot change hands in between.
        if start_ticks(pid) != started:
            return
        for number, seconds in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, 10.0)):
            signal.pidfd_send_signal(handle, number)
            if select.select([handle], [], [], seconds)[0]:
                return
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


def pids_of(executables: Collection[str], *, naming: Path) -> list[int]:
    """Return ids of processes of these executables one of whose arguments holds the path.

    The path must be one that only we use.
    """
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            arguments = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if Path(arguments[0]).name in executables and any(str(naming) in argument for argument in arguments[1:]):
            found.append(int(folder.name))
    return found


def _await_ready(program: Program, record: Record, logs: Path) -> None:
    """Wait until the program says that it works."""
    log = logs / f"{program.name}.log"
    wait_until(lambda: program.ready() or not is_alive(record), timeout_seconds=program.ready_seconds)
    if not is_alive(record):
        raise ClusterError(f"{program.name} ended right after its start. The end of {log}:\n{tail(log)}")
    if not program.ready():
        raise ClusterError(
            f"{program.name} was not ready within {program.ready_seconds:.0f} s. The end of {log}:\n{tail(log)}"
        )


def tail(path: Path, size_bytes: int = 2000) -> str:
    """Return the last bytes of a text file."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - size_bytes))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return "(no log)"
