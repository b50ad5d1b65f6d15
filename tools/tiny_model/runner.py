"""Run an untrusted program in a child process: one JSON line in, one JSON line out, with limits and deadlines.

As a script it is the child: `python runner.py`, the program's text in the first line. It imports nothing of ours, so
that the child starts fast. As a module it is the parent's side. The run's own sandbox is stronger; this one serves the
report, which runs where there is no cluster.
"""

import io
import json
import resource
import selectors
import subprocess
import sys
from types import TracebackType
from typing import Any

MEMORY_BYTES = 512 * 2**20
CPU_SECONDS = 20
ANSWER_SECONDS = 5.0
STEP_TYPES = ["str", "float", "bool", "bool", "dict"]


class ProgramFault(Exception):
    """The program raised, hung, died, or answered with wrong types; the text says which."""


class Program:
    """A program in its child. Instances of its environment are numbered in the order of `open`.

    Every method raises ProgramFault. Use it as a context manager; the child dies with it.
    """

    def __init__(self, source: str) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-I", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._ask(source)

    def __enter__(self) -> "Program":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.communicate()

    def open(self) -> int:
        """A new instance, built without arguments."""
        return int(self._ask(["open"]))

    def reset(self, instance: int, seed: int) -> str:
        """The first observation of an episode."""
        return str(self._ask(["reset", instance, seed]))

    def step(self, instance: int, action: str) -> tuple[str, float, bool, bool]:
        """Observation, reward, terminated, truncated."""
        observation, reward, terminated, truncated = self._ask(["step", instance, action])
        return str(observation), float(reward), bool(terminated), bool(truncated)

    def solution(self, instance: int) -> str:
        """What the program says wins."""
        return str(self._ask(["solution", instance]))

    def _ask(self, request: Any) -> Any:
        stdin, stdout = self._child.stdin, self._child.stdout
        if stdin is None or stdout is None:
            raise ProgramFault("child has no pipes")
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
        except BrokenPipeError as error:
            raise ProgramFault("child died") from error
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            if not selector.select(ANSWER_SECONDS):
                self._child.kill()
                raise ProgramFault("timeout")
        line = stdout.readline()
        if not line:
            raise ProgramFault("child died")
        answer = json.loads(line)
        if "fault" in answer:
            raise ProgramFault(answer["fault"])
        return answer["ok"]


def _checked_reset(value: Any) -> str:
    if type(value) is not tuple or [type(v).__name__ for v in value] != ["str", "dict"] or not value[0]:
        raise TypeError(f"reset returned {type(value).__name__}")
    return str(value[0])


def _checked_step(value: Any) -> list[Any]:
    if type(value) is not tuple or [type(v).__name__ for v in value] != STEP_TYPES:
        raise TypeError("step returned wrong types")
    return list(value[:4])


def _answer(instances: list[Any], environment: Any, request: list[Any]) -> Any:
    operation, *arguments = request
    if operation == "open":
        instances.append(environment())
        return len(instances) - 1
    instance = instances[arguments[0]]
    if operation == "reset":
        return _checked_reset(instance.reset(seed=arguments[1]))
    if operation == "step":
        return _checked_step(instance.step(arguments[1]))
    solution = instance.solution()
    if type(solution) is not str:
        raise TypeError("solution is not a str")
    return solution


def serve() -> None:
    """The child's loop: the program first, requests after it, one answer for each line."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    out, sys.stdout = sys.stdout, io.StringIO()
    instances: list[Any] = []
    environment: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if environment is None:
                names: dict[str, Any] = {"__name__": "program"}
                exec(compile(request, "program", "exec"), names)  # noqa: S102
                environment = next(v for k, v in names.items() if k.endswith("Env") and isinstance(v, type))
                answer: dict[str, Any] = {"ok": None}
            else:
                answer = {"ok": _answer(instances, environment, request)}
        except (Exception, SystemExit) as error:
            answer = {"fault": f"{type(error).__name__}: {error}"[:200]}
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    serve()
