"""Reading what a program gives as its own solution. Pure.

Asked for is one action a line, for the present hidden state: games `\\boxed{…}` lines, tools `<tool_call>` lines and
then `<answer>…</answer>`. Only that form is exact: if it does not win, the program is wrong. Other forms are read as
far as they go, and one that does not win may have been misread.
"""

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

from spade_contracts.config.environments import Domain
from spade_contracts.tool_calls import ToolCallParsing, final_answer, parse_tool_calls
from spade_sandbox.verify.moves import Move
from spade_sandbox.verify.trees import expression_of, literal_of

MAX_MOVES = 200
MAX_READINGS = 4
MAX_LINE_CHARACTERS = 200
DONE = Move("<answer>done</answer>")
_BOXED_LINE = re.compile(r"\\boxed\{[^{}\n]*(?:\{[^{}\n]*\}[^{}\n]*)*\}")
_CALL_LINE = re.compile(r"<tool_call>.*</tool_call>")
_ANSWER_LINE = re.compile(r"<answer>.*</answer>")
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.):])\s+")
_SEPARATOR = re.compile(r"\s*(?:,|;|->|→|=>|\|)\s*|\n+")


@dataclass(frozen=True)
class Reading:
    """One way to read a solution."""

    form: str
    """`exact`, or a word for how it was read: boxed, list, lines, words, calls."""
    moves: tuple[Move, ...]

    @property
    def exact(self) -> bool:
        """Whether the text has the form asked for, so that there is nothing to misread."""
        return self.form == "exact"


def readings(text: str, domain: Domain) -> tuple[Reading, ...]:
    """Ways to read a solution, the surest first; none if there is nothing to replay. An exact reading stands alone."""
    found = _tools(text) if domain is Domain.TOOLS else _games(text)
    kept: dict[tuple[Move, ...], Reading] = {}
    for reading in found:
        if 0 < len(reading.moves) <= MAX_MOVES:
            kept.setdefault(reading.moves, reading)
    return tuple(kept.values())[:MAX_READINGS]


def payload(action: str) -> str:
    """What stands in an action's box, or the action itself."""
    found = _BOXED_LINE.search(action)
    return found.group(0)[len(r"\boxed{") : -1].strip() if found else action.strip()


def boxed(content: str) -> str:
    """A game action."""
    return rf"\boxed{{{content}}}"


def _games(text: str) -> list[Reading]:
    lines = _lines(text)
    if lines and all(_BOXED_LINE.fullmatch(line) for line in lines):
        return [Reading("exact", tuple(Move(line) for line in lines))]
    found = _BOXED_LINE.findall(text)
    if found:
        return [Reading("boxed", tuple(Move(action) for action in found))]
    parts = [("list", listed)] if (listed := _listed(text)) else []
    if len(lines) > 1:
        parts.append(("lines", lines))
    separated = [part for part in _SEPARATOR.split(text.strip()) if part]
    parts += [("list", separated)] if len(separated) > 1 else []
    parts += [("words", text.split()), ("lines", lines)]
    return [
        Reading(form, tuple(Move(boxed(part)) for part in some))
        for form, some in parts
        if all(len(part) <= MAX_LINE_CHARACTERS for part in some)
    ]


def _tools(text: str) -> list[Reading]:
    lines = _lines(text)
    if lines and _ANSWER_LINE.fullmatch(lines[-1]) and all(_CALL_LINE.fullmatch(line) for line in lines[:-1]):
        calls = parse_tool_calls("\n".join(lines[:-1]), ToolCallParsing.STRICT)
        if len(calls) == len(lines) - 1:
            return [
                Reading("exact", (*(Move(name=call.name, arguments=call.arguments) for call in calls), Move(lines[-1])))
            ]
    answer = final_answer(text)
    ending = DONE if answer is None else Move(f"<answer>{answer}</answer>")
    found = tuple(
        Move(name=call.name, arguments=call.arguments) for call in parse_tool_calls(text, ToolCallParsing.STRICT)
    )
    if not found:
        found = tuple(call for line in lines if (call := _python_call(line)) is not None)
    if not found and isinstance(listed := _literal(text), list):
        found = tuple(call for item in listed if (call := _object_call(item)) is not None)
    alternatives = [Reading("calls", (*found, ending))] if found else []
    if answer is not None and not found:
        alternatives.append(Reading("answer", (ending,)))
    elif not found and len(lines) == 1 and len(lines[0]) <= MAX_LINE_CHARACTERS:
        alternatives.append(Reading("answer", (Move(f"<answer>{lines[0]}</answer>"),)))
    return alternatives


def _lines(text: str) -> list[str]:
    return [line for raw in text.splitlines() if (line := _BULLET.sub("", raw).strip())]


def _listed(text: str) -> list[str]:
    value = _literal(text)
    if isinstance(value, list | tuple) and value and all(isinstance(item, str | int | float) for item in value):
        return [payload(str(item)) for item in value]
    return []


def _literal(text: str) -> Any:
    """The value of a JSON or Python literal, or None. Bounded, because the text is a stranger's."""
    text = text.strip()
    if len(text) > 20_000 or text[:1] not in ("[", "("):
        return None
    for read in (json.loads, literal_of):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return None


def _python_call(line: str) -> Move | None:
    """`tool(key="value")`, as some write it."""
    try:
        node = expression_of(line[:2000]).body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
            return None
        arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
        return Move(name=node.func.id.removeprefix("tool_"), arguments=json.dumps(arguments, ensure_ascii=False))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _object_call(item: Any) -> Move | None:
    """`{"name": …, "arguments": {…}}`, or the pair of both."""
    if isinstance(item, list | tuple) and len(item) == 2:
        item = {"name": item[0], "arguments": item[1]}
    if not isinstance(item, dict):
        return None
    name, arguments = item.get("name"), item.get("arguments", {})
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        return None
    return Move(name=name, arguments=json.dumps(arguments, ensure_ascii=False))
