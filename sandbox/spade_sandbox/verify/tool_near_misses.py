"""Calls that nearly are the right one: one value replaced by another that the instruction cannot mean. Pure.

A value that the instruction names has others that are wrong for certain. One that it does not name may stand for
several that are right ("any free room"), so what such a call completes counts only if the call failed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from spade_sandbox.client import Tool
from spade_sandbox.verify.actions import NONSENSE
from spade_sandbox.verify.moves import Move

MAX_FOUND = 100
SHORT = 3
"""Words of so many letters are looked for as whole words."""
_LOOSE = re.compile(
    r"\b(?:at (?:least|most)|or (?:more|less|fewer|later|earlier)|(?:more|less|fewer) than|no (?:more|less|fewer)"
    r"|up to|minimum|maximum|between|around|about|roughly|approximately|any|over|under|above|below|within)\b",
    re.IGNORECASE,
)
_EXACT = re.compile(r"\b(?:exactly|precisely)\b", re.IGNORECASE)
_FAILED = re.compile(
    r"\b(?:error|fail(?:s|ed|ure)?|refus\w+|reject\w+|invalid|denied|den(?:y|ies)|cannot|can't|could not|impossible"
    r"|^not \w+|not (?:\w+ ){0,2}\w+ed|not (?:possible|found|available|allowed|known)|no such|unknown|unavailable)\b",
    re.IGNORECASE,
)
_STEP = re.compile(r"\n\[(?:New step|All steps complete)\b.*", re.DOTALL)


@dataclass(frozen=True)
class NearMiss:
    """A call with one value replaced."""

    move: Move
    wrong: bool
    """Whether it cannot be right, whatever comes of it."""


def near_misses(move: Move, tool: Tool | None, instruction: str, held: str) -> list[NearMiss]:
    """Such calls, the arguments in turn. `held` is the state before the call, as text.

    Replaced are values that the instruction names by another option of the schema, another value like it in the state,
    a number next to it, or a text without meaning; and texts of the state that it does not name by others of the state.
    """
    arguments: dict[str, Any] = json.loads(move.arguments)
    properties = tool.parameters.get("properties") if tool is not None else None
    schemas = properties if isinstance(properties, dict) else {}
    by_argument = []
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            continue
        named = _is_meant(value, instruction, held)
        if not named and not _is_held(value, held):
            continue
        schema = schemas.get(name)
        options = schema.get("enum") if isinstance(schema, dict) else None
        others = [option for option in options if option != value] if isinstance(options, list) else []
        if not others:
            others = list(_others(value, instruction, held))
        by_argument.append(
            [
                NearMiss(
                    Move(name=move.name, arguments=json.dumps({**arguments, name: other}, ensure_ascii=False)),
                    wrong=named or (other == NONSENSE and _is_entity(str(value), held)),
                )
                for other in others[:3]
            ]
        )
    in_turn = [one for group in zip_longest(*by_argument) for one in group if one is not None]
    return sorted(in_turn, key=lambda one: not one.wrong)


def failed(output: str, right: str) -> bool:
    """Whether a call complains that the right one, with its own output, does not."""
    own, other = (_STEP.sub("", text) for text in (output, right))
    return _FAILED.search(own) is not None and _FAILED.search(other) is None


def _is_meant(value: str | int | float, instruction: str, held: str) -> bool:
    """Whether the instruction names this very value: by itself, or as that of the state which it wants exactly."""
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", instruction)
    if isinstance(value, str):
        if len(value) > SHORT:
            return value.lower() in text.lower()
        return bool(value.strip()) and _whole(value, text)
    if _LOOSE.search(text) is not None:
        return False
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if _whole(str(value), text) or _whole(str(whole), text):
        return True
    return _EXACT.search(text) is not None and _is_held(value, held)


def _is_held(value: str | int | float, held: str) -> bool:
    return repr(value) in held if isinstance(value, str) else _whole(str(value), held)


def _is_entity(value: str, held: str) -> bool:
    """Whether a text of the state is a record's name there: a key, or one with digits."""
    return f"{value!r}: " in held or any(letter.isdigit() for letter in value)


def _whole(part: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(part)}(?!\w|\.\d)", text, re.IGNORECASE) is not None


def _others(value: str | int | float, instruction: str, held: str) -> Iterator[Any]:
    """What might stand in a value's place by mistake, the likeliest first."""
    if isinstance(value, str):
        yield from _alike(value, held)[:1]
        yield NONSENSE
        return
    step: int | float = 1 if isinstance(value, int) else 1 + abs(value) / 10
    yield value + step
    numbers = re.findall(r"\b\d+\b", held)[:MAX_FOUND]
    alike = [int(text) for text in numbers if len(text) == len(str(value))]
    yield from [other for other in dict.fromkeys(alike) if other != value][:1]
    yield value - step


def _alike(value: str, held: str) -> list[str]:
    """Other texts of the state that look like this one: letters and digits in the same places, or a quoted word."""
    shape = re.sub(r"\d", r"\\d", re.escape(value))
    plain = shape == re.escape(value)
    found = re.findall(r"'([^']{2,60})'", held) if plain else re.findall(rf"\b{shape}\b", held)
    return [other for other in dict.fromkeys(found) if other != value]
