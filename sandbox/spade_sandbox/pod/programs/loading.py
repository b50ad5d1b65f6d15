"""From a program's text to its environment object (method.md §4.1, §4.2)."""

import inspect
import sys
from types import ModuleType
from typing import Any

from spade_sandbox.pod import libraries
from spade_sandbox.pod.programs.bases import Env, ToolUseBaseEnv
from spade_sandbox.pod.programs.chance import seed
from spade_sandbox.pod.programs.values import InvalidReturn

MODULE_NAME = "program"
BASES = {"Env": Env, "ToolUseBaseEnv": ToolUseBaseEnv}
"""Base classes that every program finds defined; a class of this name is never the environment."""


def load(source: str, max_turns: int) -> Any:
    """Run the program's module and construct its environment, whose turns are the fewer of its own and `max_turns`.

    The environment is the first class, in the order of definition, whose name ends in Env (method.md §4.1).
    The global random generators are seeded before, so that a constructor's draws repeat.
    """
    seed(0)
    module = ModuleType(MODULE_NAME)
    module.__dict__.update(libraries.injected_names() | BASES)
    injected = set(module.__dict__)
    sys.modules[MODULE_NAME] = module  # dataclasses and typing look their module up
    exec(compile(source, "program.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102  # what a cell is for
    for name, value in module.__dict__.items():
        if name.endswith("Env") and name not in BASES and name not in injected and isinstance(value, type):
            return _construct(value, max_turns)
    raise InvalidReturn("no class whose name ends in Env")


def _construct(environment_class: type, max_turns: int) -> Any:
    """Without arguments, as for a play, then at most `max_turns` (§4.2).

    A constructor that takes no `max_turns` breaks the contract (§4.1) and fails here; one that demands it gets it.
    """
    if not (_takes(environment_class) and _takes(environment_class, max_turns=max_turns)):
        return environment_class(max_turns=max_turns)
    environment = environment_class()
    own = getattr(environment, "max_turns", None)
    if type(own) is int and own > max_turns:
        environment.max_turns = max_turns
    return environment


def _takes(environment_class: type, **arguments: object) -> bool:
    try:
        inspect.signature(environment_class).bind(**arguments)
    except (TypeError, ValueError):
        return False
    return True
