"""An engine and its vLLM end together: no death goes unnoticed, and nothing is left behind."""

import os
import signal
import time
from pathlib import Path

import psutil
from tests.component.engine.conftest import RunningEngine, start_engine, stop_engine, wait_for_boot

from spade_trainer.store.objects import Store

END_SECONDS = 600.0


def descendants(engine: RunningEngine) -> list[psutil.Process]:
    return psutil.Process(engine.process.pid).children(recursive=True)


def wait_until_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=END_SECONDS)
    assert not alive


def first_descendants(engine: RunningEngine) -> list[psutil.Process]:
    deadline = time.monotonic() + END_SECONDS
    while not (family := descendants(engine)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return family


def test_a_killed_model_process_ends_the_engine_with_an_error(store: Store, tmp_path: Path) -> None:
    engine = start_engine(tmp_path, store)
    try:
        wait_for_boot(engine)
        family = descendants(engine)
        computing = next(process for process in family if "VLLM::EngineCore" in process.cmdline()[0])
        os.kill(computing.pid, signal.SIGKILL)
        assert engine.process.wait(timeout=END_SECONDS) == 1
        wait_until_gone(family)
    finally:
        stop_engine(engine)


def test_a_server_killed_while_it_starts_ends_the_engine_with_an_error(store: Store, tmp_path: Path) -> None:
    engine = start_engine(tmp_path, store)
    try:
        family = first_descendants(engine)
        os.kill(family[0].pid, signal.SIGKILL)
        assert engine.process.wait(timeout=END_SECONDS) == 1
        wait_until_gone(family)
    finally:
        stop_engine(engine)


def test_sigterm_while_vllm_starts_leaves_no_process(store: Store, tmp_path: Path) -> None:
    engine = start_engine(tmp_path, store)
    try:
        family = first_descendants(engine)
        assert stop_engine(engine) == 0
        wait_until_gone(family)
    finally:
        stop_engine(engine)


def test_a_killed_engine_takes_its_vllm_with_it(store: Store, tmp_path: Path) -> None:
    engine = start_engine(tmp_path, store)
    try:
        wait_for_boot(engine)
        family = descendants(engine)
        engine.process.kill()
        engine.process.wait(timeout=END_SECONDS)
        wait_until_gone(family)
    finally:
        stop_engine(engine)
