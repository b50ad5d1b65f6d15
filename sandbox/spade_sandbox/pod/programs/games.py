"""Game programs inside a cell: load, construct, and pass calls on with exact types (method.md §2.3, §4.1).

Runs in the cell, next to the program, which can tamper with it: the supervisor and the client check everything again.
What is checked here gives honest programs their precise error.
"""

import math
import random
import sys
from types import ModuleType
from typing import Any

import numpy

from spade_sandbox.pod import libraries

MODULE_NAME = "program"
MAX_INFO_ENTRIES = 32
MAX_INFO_KEY_CHARACTERS = 64
MAX_INFO_TEXT_CHARACTERS = 500
MAX_INFO_INTEGER = 2**63 - 1
NOT_ENVIRONMENTS = frozenset({"Env", "ToolUseBaseEnv"})


class InvalidReturn(Exception):
    """The program returned something of a wrong type, size or value."""


def load(source: str, max_turns: int) -> Any:
    """Run the program's module and construct its environment with `max_turns`.

    The environment is the first class, in the order of definition, whose name ends in Env (method.md §4.1).
    The global random generators are seeded before, so that a constructor's draws repeat.
    """
    seed(0)
    module = ModuleType(MODULE_NAME)
    module.__dict__.update(libraries.injected_names())
    injected = set(module.__dict__)
    sys.modules[MODULE_NAME] = module  # dataclasses and typing look their module up
    exec(compile(source, "program.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102  # what a cell is for
    for name, value in module.__dict__.items():
        if name.endswith("Env") and name not in NOT_ENVIRONMENTS and name not in injected and isinstance(value, type):
            return value(max_turns=max_turns)
    raise InvalidReturn("no class whose name ends in Env")


def seed(value: int) -> None:
    """Seed the global generators that a program may draw from."""
    random.seed(value)
    numpy.random.seed(value % 2**32)


def reset(environment: Any, seed_value: int | None, limit_characters: int) -> dict[str, Any]:
    """Begin an episode; a bare string counts as an observation without info (method.md §4.1)."""
    if seed_value is not None:
        seed(seed_value)
    returned = environment.reset(seed=seed_value)
    if type(returned) is str:
        returned = (returned, {})
    if type(returned) is not tuple or len(returned) != 2:
        raise InvalidReturn(f"reset returned {_kind(returned)}, not (str, dict)")
    observation, info = returned
    text = _observation(observation, limit_characters)
    if not text:
        raise InvalidReturn("reset returned an empty observation")
    return {"op": "reset", "observation": text, "info": _info(info)}


def step(environment: Any, action: str, limit_characters: int) -> dict[str, Any]:
    """One action; the five parts must have exactly the types of the contract."""
    returned = environment.step(action)
    if type(returned) is not tuple or len(returned) != 5:
        raise InvalidReturn(f"step returned {_kind(returned)}, not a 5-tuple")
    observation, reward, terminated, truncated, info = returned
    text = _observation(observation, limit_characters)
    if type(terminated) is not bool or type(truncated) is not bool:
        raise InvalidReturn(f"terminated is {_kind(terminated)} and truncated is {_kind(truncated)}, not bool")
    return {
        "op": "step",
        "observation": text,
        "reward": _reward(reward),
        "terminated": terminated,
        "truncated": truncated,
        "info": _info(info),
    }


def solution(environment: Any, limit_characters: int) -> dict[str, Any]:
    """The program's own solution text."""
    return {"op": "solution", "text": _observation(environment.solution(), limit_characters)}


def _observation(value: object, limit_characters: int) -> str:
    if type(value) is not str:
        raise InvalidReturn(f"a text is {_kind(value)}, not str")
    if len(value) > limit_characters:
        raise InvalidReturn(f"a text has {len(value)} characters; at most {limit_characters} are allowed")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidReturn("a text is not valid Unicode") from None
    return value


def _reward(value: object) -> float:
    if type(value) is not float and type(value) is not int:
        raise InvalidReturn(f"reward is {_kind(value)}, not float")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidReturn("reward is not finite")
    return number


def _info(value: object) -> dict[str, bool | int | float | str]:
    """Short scalars of an info dict; the rest is left out, because nothing is computed from it."""
    if type(value) is not dict:
        raise InvalidReturn(f"info is {_kind(value)}, not dict")
    kept: dict[str, bool | int | float | str] = {}
    for key, item in value.items():
        if len(kept) == MAX_INFO_ENTRIES:
            break
        if type(key) is not str or len(key) > MAX_INFO_KEY_CHARACTERS or not _is_unicode(key):
            continue
        if _is_short_number(item):
            kept[key] = item
        elif type(item) is str and _is_unicode(item):
            kept[key] = item[:MAX_INFO_TEXT_CHARACTERS]
    return kept


def _is_short_number(value: object) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is bool or (type(value) is int and abs(value) <= MAX_INFO_INTEGER)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: object) -> str:
    kind = type(value)
    return kind.__name__[:100] if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"[:100]
