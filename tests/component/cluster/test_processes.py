"""A component is started once, found again, restarted when it changed, and no stranger is ever killed."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from json import dumps
from pathlib import Path

import pytest
from spade_cluster.errors import ClusterError
from spade_cluster.processes import (
    Program,
    Record,
    boot_id,
    ensure_running,
    is_alive,
    pids_of,
    read_record,
    start_ticks,
    stop,
)

SLEEPER = "import sys, time; print('started', flush=True); time.sleep(600)"


def sleeper(argument: str = "one") -> Program:
    """A program that does nothing for ten minutes."""
    return Program("sleeper", (sys.executable, "-c", SLEEPER, argument), ready=lambda: True)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Records and logs; whatever was started is stopped."""
    yield tmp_path
    stop("sleeper", records=tmp_path)


def test_second_start_is_a_no_op(folder: Path) -> None:
    assert ensure_running(sleeper(), records=folder, logs=folder)
    first = read_record(folder, "sleeper")
    assert not ensure_running(sleeper(), records=folder, logs=folder)
    assert read_record(folder, "sleeper") == first


def test_killed_program_is_started_again(folder: Path) -> None:
    ensure_running(sleeper(), records=folder, logs=folder)
    first = read_record(folder, "sleeper")
    assert first is not None
    os.kill(first.pid, 9)
    os.waitpid(first.pid, 0)
    assert ensure_running(sleeper(), records=folder, logs=folder)
    assert is_alive(read_record(folder, "sleeper"))


def test_changed_command_replaces_the_process(folder: Path) -> None:
    ensure_running(sleeper("one"), records=folder, logs=folder)
    first = read_record(folder, "sleeper")
    assert first is not None
    assert ensure_running(sleeper("two"), records=folder, logs=folder)
    assert start_ticks(first.pid) is None
    assert is_alive(read_record(folder, "sleeper"))


def test_changed_configuration_replaces_the_process(folder: Path) -> None:
    config = folder / "config"
    config.write_text("a")
    program = replace(sleeper(), config_files=(config,))
    ensure_running(program, records=folder, logs=folder)
    config.write_text("b")
    assert ensure_running(program, records=folder, logs=folder)


def test_stop_spares_a_stranger_that_got_the_recorded_id(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as stranger:
        try:
            earlier = (start_ticks(stranger.pid) or 0) - 1
            record = Record(pid=stranger.pid, start_ticks=earlier, boot_id=boot_id(), fingerprint="")
            (folder / "sleeper.json").write_text(dumps(asdict(record)))
            assert not stop("sleeper", records=folder)
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_record_of_another_boot_does_not_count(folder: Path) -> None:
    ensure_running(sleeper(), records=folder, logs=folder)
    record = read_record(folder, "sleeper")
    assert record is not None
    assert not is_alive(replace(record, boot_id="another"))


def test_program_that_dies_is_reported_with_the_end_of_its_log(folder: Path) -> None:
    command = (sys.executable, "-c", "raise SystemExit('address already in use')")
    with pytest.raises(ClusterError, match="address already in use"):
        ensure_running(Program("sleeper", command, ready=lambda: False), records=folder, logs=folder)


def test_program_that_ignores_the_kind_signal_is_killed(folder: Path) -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    log = folder / "sleeper.log"
    program = Program("sleeper", (sys.executable, "-c", code), ready=lambda: log.exists() and "deaf" in log.read_text())
    ensure_running(program, records=folder, logs=folder)
    begin = time.monotonic()
    assert stop("sleeper", records=folder, grace_seconds=0.2)
    assert time.monotonic() - begin >= 0.2
    assert read_record(folder, "sleeper") is None


def test_processes_are_found_by_executable_and_path_together(folder: Path) -> None:
    log = folder / "sleeper.log"
    program = replace(sleeper(f"--root={folder}/state"), ready=lambda: log.exists() and "started" in log.read_text())
    ensure_running(program, records=folder, logs=folder)
    record = read_record(folder, "sleeper")
    assert record is not None
    name = Path(sys.executable).name
    assert record.pid in pids_of({name}, naming=folder / "state")
    assert record.pid not in pids_of({"another"}, naming=folder / "state")
    assert record.pid not in pids_of({name}, naming=folder / "other")
