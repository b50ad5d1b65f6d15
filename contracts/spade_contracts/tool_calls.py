"""Tool calls and final answers in a player's text (method.md §1.7, §5.3): shared by play, verification and the pod.

Imports the standard library only, because the pod reads it in every cell.
"""

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_BLOCK = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_XML_FUNCTION = re.compile(r"<function=([^>\s]+)>(.*?)</function>", re.DOTALL)
_XML_PARAMETER = re.compile(r"<parameter=([^>\s]+)>(.*?)</parameter>", re.DOTALL)
_LOOSE = re.compile(r'\{\s*"name"\s*:\s*"([^"]+)"\s*,\s*"arguments"\s*:\s*(\{.*?\})\s*\}', re.DOTALL)


class ToolCallParsing(StrEnum):
    """D8: which tool calls of a reply count."""

    STRICT = "Strict"
    """A block whose JSON or arguments do not parse is no call; nested arguments are kept."""
    LENIENT = "Lenient"
    """The reference's rule: most nested objects and all broken arguments become `{}` and still count (V28)."""


@dataclass(frozen=True)
class ToolCall:
    """One call as the player wrote it."""

    name: str
    arguments: str
    """A JSON object, as compact text."""

    def values(self) -> dict[str, Any]:
        """The arguments, parsed."""
        return dict(json.loads(self.arguments))


def parse_tool_calls(text: str, parsing: ToolCallParsing) -> tuple[ToolCall, ...]:
    """Calls in `<tool_call>` blocks, in order. No call in a text with `<tool_call>` is a malformed turn (§5.3)."""
    read = _strict if parsing is ToolCallParsing.STRICT else _lenient
    return tuple(call for block in _BLOCK.findall(text) if (call := read(block)) is not None)


def spelled(call: ToolCall) -> str:
    """A call in the canonical form, as one line that `read_call` and both parsers read back as the same call.

    Every `<` in it is escaped, so that nothing in the arguments looks like a tag.
    """
    inside = f'{{"name": {json.dumps(call.name, ensure_ascii=False)}, "arguments": {call.arguments}}}'
    return f"{OPEN}{inside.replace('<', chr(92) + 'u003c')}{CLOSE}"


def read_call(text: str) -> ToolCall | None:
    """The call that a text in the form of `spelled` stands for; None for any other text."""
    calls = parse_tool_calls(text, ToolCallParsing.STRICT)
    return calls[0] if len(calls) == 1 and spelled(calls[0]) == text else None


def is_answer(text: str) -> bool:
    """Whether a turn gives a final answer (method.md §1.7): then its tool calls are ignored."""
    return "<answer>" in text


def is_malformed(text: str, calls: tuple[ToolCall, ...]) -> bool:
    """Whether a turn tries to call a tool and no call of it can be read (method.md §5.3)."""
    return OPEN in text and not calls


def final_answer(text: str) -> str | None:
    """Content of the first `<answer>` block, or None."""
    found = _ANSWER.search(text)
    return found.group(1).strip() if found else None


def _strict(block: str) -> ToolCall | None:
    if "<function=" in block:
        return _xml(block)
    call = _object(block)
    if call is None:
        return None
    name, arguments = call.get("name"), call.get("arguments", {})
    if type(name) is not str or not name or type(arguments) is not dict:
        return None
    return ToolCall(name, _compact(arguments))


def _lenient(block: str) -> ToolCall | None:
    if (call := _xml(block)) is not None:
        return call
    if (loose := _LOOSE.search(block)) is not None:
        return ToolCall(loose.group(1), _compact(_object(loose.group(2)) or {}))
    plain = _object(block)
    if plain is None or type(plain.get("name")) is not str:
        return None
    arguments = plain.get("arguments", {})
    return ToolCall(plain["name"], _compact(arguments if type(arguments) is dict else {}))


def _xml(block: str) -> ToolCall | None:
    function = _XML_FUNCTION.search(block)
    if function is None:
        return None
    arguments = {name: _value(text.strip()) for name, text in _XML_PARAMETER.findall(function.group(2))}
    return ToolCall(function.group(1), _compact(arguments))


def _value(text: str) -> Any:
    """A parameter's JSON value, or the text itself where it is none."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _object(text: str) -> dict[str, Any] | None:
    value = _value(text.strip())
    return value if type(value) is dict else None


def _compact(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
