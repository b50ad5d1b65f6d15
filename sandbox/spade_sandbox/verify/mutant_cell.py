"""What runs in a cell to replay sessions against many mutants of one program: itself a program with an environment.

Never imported by what judges: `mutants` reads this file, appends `PROGRAM`, `REPLAYS` and `BATCH_SECONDS`, and opens
the text in a sandbox like any other program. A step, `"MUTANT REPLAY REPLAY …"`, is answered by one digest for each
replay of everything that the mutant said, up to the first that differs from the original's last. Each replay runs the
module anew, so that nothing of one reaches the next. Standard library only: a cell holds more where a program asks.
"""

INJECTED = dict(globals())  # first of all: the names that every program finds defined, and none of ours

import hashlib  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from types import CodeType, ModuleType  # noqa: E402
from typing import Any  # noqa: E402

PROGRAM = ""
"""The text with all mutants; appended."""
REPLAYS = "[]"
"""JSON: per episode its seed, and its moves, each `[action, tool, arguments]`; appended."""
BATCH_SECONDS = 0.0
"""After so long no further replay of a step begins; appended."""
SWITCH = "_spade_mutant"
MODULE = "program"
BASES = ("Env", "ToolUseBaseEnv")
CLOCK = time.monotonic
"""Kept, in case a program exchanges it."""


class MutantCellEnv:
    """The first class whose name ends in Env, so the cell plays it, and it plays the mutants."""

    def __init__(self, max_turns: int = 12, **settings: Any) -> None:
        self.max_turns = max_turns
        self.code: CodeType | None = None
        self.replays: list[tuple[int, list[list[str]]]] = []
        self.originals: dict[int, str] = {}

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Compile once."""
        self.code = compile(PROGRAM, "program.py", "exec", dont_inherit=True)
        self.replays = json.loads(REPLAYS)
        sys.stdout = sys.stderr = Nowhere()  # the output limit is for one program, not for all its mutants
        return f"{len(self.replays)} replays", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """As many replays as time allows, at least one."""
        mutant, *replays = (int(word) for word in action.split())
        digests: list[str] = []
        until = CLOCK() + BATCH_SECONDS
        for replay in replays:
            digests.append(self.digest(mutant, replay))
            if mutant == 0:
                self.originals[replay] = digests[-1]
            if CLOCK() > until or digests[-1] != self.originals.get(replay):
                break
        return " ".join(digests), 0.0, False, False, {}

    def digest(self, mutant: int, replay: int) -> str:
        """Of everything that the mutant says in one replay."""
        digest = hashlib.sha256()
        for answer in self.answers(mutant, *self.replays[replay]):
            digest.update(f"{len(answer)} {answer}".encode("utf-8", "backslashreplace"))
        return digest.hexdigest()[:32]

    def answers(self, mutant: int, start: int, moves: list[list[str]]) -> list[str]:
        """What the mutant says in one episode, up to its end or its first fault."""
        said: list[str] = []
        try:
            environment = self.fresh(mutant)
            seed(start)
            said.append(opening(environment.reset(seed=start)))
            for action, tool, arguments in moves:
                text, over = call(environment, tool, arguments) if tool else step(environment, action)
                said.append(text)
                if over:
                    break
        except MemoryError:
            raise
        except BaseException as error:  # a mutant's exit is a fault like any other
            said.append(f"fault {type(error).__name__}")
        return said

    def fresh(self, mutant: int) -> Any:
        """A new environment of the mutant, as a cell makes one of a program."""
        seed(0)
        module = ModuleType(MODULE)
        module.__dict__.update({name: value for name, value in INJECTED.items() if not name.startswith("__")})
        before = set(module.__dict__)
        module.__dict__[SWITCH] = mutant
        sys.modules[MODULE] = module
        assert self.code is not None
        exec(self.code, module.__dict__)  # noqa: S102  # what a cell is for
        for name, value in module.__dict__.items():
            if name.endswith("Env") and name not in BASES and name not in before and isinstance(value, type):
                return construct(value, self.max_turns)
        raise LookupError("no class whose name ends in Env")


class Nowhere:
    """Takes what programs print."""

    def write(self, text: str) -> int:
        """Throw it away."""
        return len(text)

    def flush(self) -> None:
        """Nothing is kept."""


def opening(returned: Any) -> str:
    """The first observation, in a comparable text."""
    return said(returned[0] if isinstance(returned, tuple) else returned)


def step(environment: Any, action: str) -> tuple[str, bool]:
    """One step's answer, and whether the episode is over. Raises whatever the program raises."""
    observation, reward, terminated, truncated, _ = environment.step(action)
    return said(observation, reward, terminated, truncated), bool(terminated or truncated)


def call(environment: Any, name: str, arguments: str) -> tuple[str, bool]:
    """One tool call's answer; no call ends an episode."""
    parsed = json.loads(arguments)
    if type(parsed) is not dict:
        return "no JSON object", False
    returned = environment.execute_tool(name, parsed)
    return said(returned["output"], returned["returncode"]), False


def said(*parts: object) -> str:
    """Values with their types."""
    return "\n".join(f"{type(part).__name__} {part!r}" for part in parts)


def construct(environment_class: Any, turns: int) -> Any:
    """Without arguments if that is possible, then at most so many turns (method.md §4.2)."""
    try:
        environment = environment_class()
    except TypeError:
        return environment_class(max_turns=turns)
    own = getattr(environment, "max_turns", None)
    if type(own) is int and own > turns:
        environment.max_turns = turns
    return environment


def seed(value: int) -> None:
    """Seed the global generators, as a cell does."""
    INJECTED["Env"]().reset(seed=value)
