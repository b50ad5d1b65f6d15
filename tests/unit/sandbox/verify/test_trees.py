"""Syntax trees are built by one thread at a time, whatever the garbage collector runs in between."""

import gc
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import spade_sandbox.verify
from spade_sandbox.verify.trees import expression_of, literal_of, module_of

SECONDS, THREADS = 2.0, 4
SOURCE = "\n".join(
    f"def f{n}(a, b):\n    return [a + b * {n} for a in range(b) if a > {n}] or (a, {{b: {n}}})" for n in range(60)
)


class Cycle:
    """Garbage that lets another thread go on when it is collected."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        time.sleep(0)


@pytest.fixture
def restless() -> Iterator[None]:
    """The collector looks after each few objects, and threads take turns all the time."""
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(20)
    sys.setswitchinterval(1e-6)
    yield
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


def test_threads_build_trees_side_by_side(restless: None) -> None:
    """With `ast.parse` alone this fails within seconds on CPython 3.11.2."""
    failures: list[BaseException] = []
    end = time.monotonic() + SECONDS

    def build() -> None:
        while time.monotonic() < end and not failures:
            Cycle()
            try:
                module_of(SOURCE)
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=build) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_the_gate_builds_trees_in_no_other_way() -> None:
    folder = Path(str(spade_sandbox.verify.__file__)).parent
    others = [file.name for file in folder.glob("*.py") if re.search(r"\bast\.parse\b", file.read_text())]
    assert others == ["trees.py"]


def test_values_and_errors_are_those_of_the_library() -> None:
    assert literal_of("  {'a': (1, -2.5)}") == {"a": (1, -2.5)}
    assert expression_of("f(1)").body.lineno == 1
    with pytest.raises(SyntaxError):
        module_of("def")
    with pytest.raises(ValueError, match="malformed"):
        literal_of("f(1)")
