"""`spade verify` and `spade replay` on real programs, from the shell to the last file."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from tests.component.local.conftest import BACKENDS, COMMAND, POD_MARK, PROGRAMS, running, started_by
from tests.support.sandbox_pods import descendants, eventually

from spade_sandbox.local import Backend

DEADLINE_SECONDS = 600
EXPECTATION = "# expect: "
SETTINGS = "limits: {loadSeconds: 60, stepSeconds: 60}\nverification: {maxCpuSeconds: 60}\n"


def spade(*words: str | Path, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Programs of every kind."""
    games = tmp_path / "games"
    games.mkdir()
    for name in ("good/number_search", "bad/empty_action_wins", "bad/goal_holds_at_reset", "bad/leaves_by_exit"):
        source = PROGRAMS / f"{name}.py"
        (games / source.name).write_bytes(source.read_bytes())
    (games / "empty.py").write_bytes(b"")
    (games / "large.py").write_bytes(b"#" * 10_000_000)
    (games / "latin.py").write_bytes("# Größe\n".encode("latin-1"))
    (games / "prose.py").write_text("This is no program.")
    (games / "nothing.py").write_text("x = 1\n")
    (games / "null.py").write_bytes(b"\0\0")
    (games / "away.py").symlink_to("missing.py")
    os.mkfifo(games / "pipe.py")
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    return games


PARSED = {
    "empty.py": "parse/empty",
    "large.py": "parse/too_long",
    "latin.py": "parse/encoding",
    "prose.py": "parse/syntax",
    "nothing.py": "parse/no_environment_class",
    "null.py": "parse/syntax",
    "away.py": "parse/unreadable",
    "pipe.py": "parse/unreadable",
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_file_gets_its_verdict_in_every_form(folder: Path, backend: Backend, tmp_path: Path) -> None:
    out = tmp_path / "verdicts.parquet"
    words = ("verify", folder, tmp_path / "gone.py", "--domain", "games", "--backend", backend, "--json", "--out", out)
    done = spade(*words, "--settings", tmp_path / "settings.yaml", "--jobs", 2)
    assert done.returncode == 1, done.stderr
    records = {Path(record["program"]).name: record for record in json.loads(done.stdout)}
    said = {name: f"{record['stage']}/{record['reason']}" for name, record in records.items()}
    expected = {**PARSED, "gone.py": "parse/unreadable", "number_search.py": "accepted/None"}
    for path in folder.iterdir():
        if path.name not in expected:
            expected[path.name] = path.read_text().partition("\n")[0].removeprefix(EXPECTATION)
    assert said == expected
    assert [name for name, record in records.items() if record["accepted"]] == ["number_search.py"]
    assert all(record["evidence"] for record in records.values() if record["stage"] in ("contract", "controls"))
    assert ("WITHOUT gVisor" in done.stderr) == (backend is Backend.CELLS)
    rows = pq.read_table(out).to_pylist()
    assert [(row["program"], row["accepted"], row["stage"], row["reason"]) for row in rows] == [
        (record["program"], record["accepted"], record["stage"], record["reason"]) for record in json.loads(done.stdout)
    ]

    record = tmp_path / "verdict.json"
    record.write_text(json.dumps(records["empty_action_wins.py"]))
    again = spade("replay", record, "--backend", backend)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "are the same" in again.stdout

    index = [Path(row["program"]).name for row in rows].index("empty_action_wins.py")
    changed = tmp_path / "changed.py"
    changed.write_text((folder / "empty_action_wins.py").read_text().replace('"No."', '"Not yet."'))
    other = spade("replay", out, "--index", index, "--program", changed, "--backend", backend)
    assert other.returncode == 1, other.stdout + other.stderr
    assert "Not yet." in other.stdout


def test_accepted_programs_end_with_0_and_one_line_each(folder: Path, tmp_path: Path) -> None:
    program = folder / "number_search.py"
    words = ("verify", program, "--domain", "games", "--backend", "runsc", "--settings", tmp_path / "settings.yaml")
    done = spade(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    line, summary = done.stdout.splitlines()
    assert line == f"accepted    {program}"
    assert "1 program in gVisor (runsc): 1 accepted, 0 rejected" in summary


def test_copy_of_an_earlier_program_is_a_duplicate_whatever_ends_first(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.py"
    copy.write_text((folder / "number_search.py").read_text() + "\n# the same\n")
    words = ("verify", folder / "number_search.py", copy, "--domain", "games", "--backend", "cells", "--jobs", 2)
    done = spade(*words, "--json", "--settings", tmp_path / "settings.yaml")
    assert [record["reason"] for record in json.loads(done.stdout)] == [None, "duplicate"], done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
async def test_signal_ends_the_command_and_all_that_it_started(folder: Path, number: signal.Signals, code: int) -> None:
    endless = folder / "endless.py"
    endless.write_text((PROGRAMS / "bad" / "endless_step.py").read_text())
    settings = folder / "patient.yaml"
    settings.write_text("limits: {stepSeconds: 600}\nverification: {maxCpuSeconds: 600}\n")
    command = await asyncio.create_subprocess_exec(
        *COMMAND, "verify", str(endless), "--domain", "games", "--backend", "cells", "--settings", str(settings),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    await asyncio.to_thread(
        eventually, "the pod runs", lambda: started_by(command.pid, "spade_sandbox.pod.zygote") or None, 120
    )
    processes = descendants(command.pid)
    command.send_signal(number)
    async with asyncio.timeout(60):
        assert await command.wait() == code
    await asyncio.to_thread(eventually, "the pod is gone", lambda: not running(processes))


def computes(pod: int) -> bool:
    """Whether a program of this pod has computed for a second: a cell, which is a child of the pod's zygote."""
    forked = started_by(pod, "zygote")
    with contextlib.suppress(psutil.NoSuchProcess):
        cells = [one for one in map(psutil.Process, forked) if one.ppid() in forked]
        return any(cell.cpu_times().user > 1 for cell in cells)
    return False


def test_lost_sandboxes_are_no_rejection(folder: Path, tmp_path: Path) -> None:
    settings = tmp_path / "patient.yaml"
    settings.write_text("limits: {stepSeconds: 600}\nverification: {maxCpuSeconds: 600}\n")
    (folder / "endless.py").write_text((PROGRAMS / "bad" / "endless_step.py").read_text())
    command = subprocess.Popen(
        [*COMMAND, "verify", str(folder / "endless.py"), "--domain", "games", "--backend", "cells", "--json",
         "--settings", str(settings)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + DEADLINE_SECONDS
    killed: set[int] = set()
    while command.poll() is None and time.monotonic() < deadline:
        pods = started_by(command.pid, POD_MARK[Backend.CELLS]) - started_by(command.pid, "keeper.py") - killed
        busy = {number for number in pods if computes(number)}
        for number in busy:
            os.kill(number, signal.SIGKILL)
        killed |= busy
        time.sleep(0.2)
    out, err = command.communicate(timeout=60)
    assert command.returncode == 3, err
    (record,) = json.loads(out)
    assert (record["accepted"], record["reason"]) == (False, "infrastructure")
    assert "NOT JUDGED" in err
