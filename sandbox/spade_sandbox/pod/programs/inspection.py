"""What verification sees of an environment: its hidden state as canonical text, its instructions and criteria.

The same state gives the same text in every process: no addresses, sets and dicts in order, cycles cut.
"""

import copy
import enum
import hashlib
import random
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from spade_sandbox.pod.programs.bases import ToolUseBaseEnv, holds
from spade_sandbox.pod.programs.values import is_unicode

MAX_VALUES = 256
MAX_NAME_CHARACTERS = 128
MAX_VALUE_CHARACTERS = 2_000
MAX_INSTRUCTIONS = 64
MAX_NODES = 20_000
"""Values walked in one inspection; what lies beyond shows as `…`."""
MAX_DEPTH = 40
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def look(environment: Any, limit_characters: int) -> dict[str, Any]:
    """Attributes of a game, entries of a tool program's `_state`, and the criteria on the present state."""
    messages = getattr(environment, "_user_messages", ())
    current = getattr(environment, "_current_msg", 0)
    criteria = getattr(environment, "_message_criteria", ())
    return {
        "op": "inspect",
        "values": values(environment),
        "instruction": current if type(current) is int and 0 <= current <= 1_000_000 else 0,
        "instructions": [
            message[:limit_characters] for message in _listed(messages) if type(message) is str and is_unicode(message)
        ],
        "criteria": [_criterion(environment, criterion) for criterion in _listed(criteria)],
    }


def values(environment: Any) -> dict[str, str]:
    """Canonical text by name; long ones are cut and end in their digest."""
    of_tools = isinstance(environment, ToolUseBaseEnv) and type(environment._state) is dict
    held: dict[Any, Any] = environment._state if of_tools else _attributes(environment)
    walk = _Walk()
    shown: dict[str, str] = {}
    for name, value in held.items():
        if len(shown) == MAX_VALUES:
            break
        label = name if type(name) is str and is_unicode(name) else walk.text(name)
        shown[label[:MAX_NAME_CHARACTERS]] = _cut(walk.text(value))
    return shown


def _attributes(value: object) -> dict[str, Any]:
    named = dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, slot):
                named[slot] = getattr(value, slot)
    return named


def _listed(value: object) -> list[Any]:
    return list(value)[:MAX_INSTRUCTIONS] if isinstance(value, list | tuple) else []


def _criterion(environment: Any, criterion: Any) -> str:
    """On a copy of the state, because looking must not change the episode."""
    try:
        return "true" if holds(criterion, copy.deepcopy(environment._state)) else "false"
    except MemoryError:
        raise
    except Exception:  # the criterion is the program's own code and may raise anything; that is the answer
        return "raises"


def _cut(text: str) -> str:
    if len(text) <= MAX_VALUE_CHARACTERS:
        return text
    return f"{text[:MAX_VALUE_CHARACTERS]}…sha256:{hashlib.sha256(text.encode()).hexdigest()}"


class _Walk:
    """One walk over values, with a bound on their number."""

    def __init__(self) -> None:
        self._left = MAX_NODES
        self._above: list[int] = []
        """Ids of the values that hold the present one."""

    def text(self, value: object) -> str:
        self._left -= 1
        if self._left < 0 or len(self._above) == MAX_DEPTH or id(value) in self._above:
            return "…"
        if type(value) in _PLAIN:
            return repr(value).encode("ascii", "backslashreplace").decode() if type(value) is str else _number(value)
        self._above.append(id(value))
        try:
            return "".join(self._compound(value))
        finally:
            self._above.pop()

    def _compound(self, value: object) -> Iterator[str]:
        yield type(value).__name__
        if isinstance(value, enum.Enum):
            yield f".{value.name}"
        elif (numbers := _of_numpy(value)) is not None:
            yield f"({self.text(numbers)})"
        elif isinstance(value, random.Random):
            yield f"({self._digest(value.getstate())})"
        elif isinstance(value, Mapping):
            yield "{" + ", ".join(f"{self.text(key)}: {self.text(item)}" for key, item in value.items()) + "}"
        elif isinstance(value, Set):
            yield "{" + ", ".join(sorted(self.text(item) for item in value)) + "}"
        elif isinstance(value, Sequence | deque):
            yield "[" + ", ".join(self.text(item) for item in value) + "]"
        elif isinstance(value, type) or callable(value):
            yield f" {getattr(value, '__qualname__', '')}"
        else:
            yield "(" + ", ".join(f"{name}={self.text(item)}" for name, item in _attributes(value).items()) + ")"

    def _digest(self, value: object) -> str:
        return "sha256:" + hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _number(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # an integer with more digits than Python prints
        assert isinstance(value, int)
        return hex(value)


def _of_numpy(value: object) -> object | None:
    """An array or scalar of numpy as Python's own numbers; None for anything else, and in a cell without numpy."""
    numpy = sys.modules.get("numpy")
    return value.tolist() if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic) else None
