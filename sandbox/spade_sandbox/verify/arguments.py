"""Arguments for tool calls, out of a tool's schema and what has been seen. Pure."""

import json
import re
from itertools import islice, product
from random import Random
from typing import Any

from spade_sandbox.client import Tool
from spade_sandbox.verify.actions import FAR_NUMBER, NONSENSE

_NAMES = re.compile(r"[A-Za-z]*[-_#]?\d[\w-]*|[A-Z][a-z]+|\"([^\"]{1,40})\"|'([^']{1,40})'")
MAX_PROPERTIES = 20
MAX_CHOICES = 64
"""Combinations of listed values that are drawn from."""
MAX_LISTED = 8
"""Those that are called."""


def drawn(tool: Tool, known: str, rng: Random) -> str:
    """Likely arguments: enum values, and names and numbers of what has been seen."""
    seen = [next(filter(None, (*found.groups(), found.group(0)))) for found in _NAMES.finditer(known)]
    return _text({name: _likely(schema, seen, rng) for name, schema in _properties(tool).items()})


def several(tool: Tool, instruction: str, known: str, rng: Random, draws: int) -> list[str]:
    """Different arguments: each choice that the schema lists, up to MAX_LISTED, and so many draws of all else.

    They take in turn what the instruction names and what has been seen.
    """
    properties = _properties(tool)
    listed = {name: choices for name, schema in properties.items() if (choices := _choices(schema))}
    chosen = list(islice(product(*listed.values()), MAX_CHOICES))
    rng.shuffle(chosen)
    is_open = len(listed) < len(properties)
    most = min(len(chosen), MAX_LISTED)
    most = max(draws, most) if is_open else most
    found: dict[str, None] = {}
    for number in range(2 * most if is_open else most):
        named = number // len(chosen) % 2 == 0
        likely = json.loads(drawn(tool, instruction if named else known, rng))
        found[_text({**likely, **dict(zip(listed, chosen[number % len(chosen)], strict=True))})] = None
        if len(found) == most:
            break
    return list(found)


def meaningless(tool: Tool) -> str | None:
    """Arguments of the right types that name nothing; None for a tool that can only be called in one way."""
    properties = _properties(tool)
    if not any(_is_open(schema) for schema in properties.values()):
        return None
    return _text({name: _nothing(schema) for name, schema in properties.items()})


def _properties(tool: Tool) -> dict[str, dict[str, Any]]:
    """Schemas by parameter, of what a program calls a JSON schema."""
    properties = tool.parameters.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {
        name: schema if isinstance(schema, dict) else {} for name, schema in tuple(properties.items())[:MAX_PROPERTIES]
    }


def _choices(schema: dict[str, Any]) -> list[Any]:
    """The values of a parameter that can be told one by one; none for one that is open."""
    options = schema.get("enum")
    if isinstance(options, list) and options:
        return options[:MAX_CHOICES]
    return [True, False] if schema.get("type") == "boolean" else []


def _is_open(schema: dict[str, Any]) -> bool:
    return not schema.get("enum") and schema.get("type") in (None, "string", "integer", "number")


def _likely(schema: dict[str, Any], seen: list[str], rng: Random) -> Any:
    options = schema.get("enum")
    if isinstance(options, list) and options:
        return rng.choice(options)
    match schema.get("type"):
        case "integer" | "number":
            numbers = [int(text) for text in seen if text.isascii() and text.isdigit() and len(text) < 12]
            return rng.choice(numbers or [1, 2, 3, 10])
        case "boolean":
            return rng.random() < 0.5
        case "array":
            return [rng.choice(seen or ["a"])]
        case "object":
            return {}
        case _:
            return rng.choice(seen or ["a"])


def _nothing(schema: dict[str, Any]) -> Any:
    options = schema.get("enum")
    if isinstance(options, list) and options:
        return options[0]
    match schema.get("type"):
        case "integer" | "number":
            return FAR_NUMBER
        case "boolean":
            return False
        case "array":
            return []
        case "object":
            return {}
        case _:
            return NONSENSE


def _text(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
