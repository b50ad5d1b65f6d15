"""What M14 reads of a tool environment beside its openings: the list of tools, and what failing calls answer.

Enumerations are left out, of schemas and of texts: one that holds the answer is no leak.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from spade_sandbox.client import Tool
from spade_sandbox.verify.actions import NONSENSE
from spade_sandbox.verify.arguments import meaningless
from spade_sandbox.verify.moves import Move
from spade_sandbox.verify.playing import begin, make
from spade_sandbox.verify.trial import OutOfSteps, Trial

SEEDS = 3
"""Seeds from which tools are called in vain."""
MAX_CALLS = 2
MAX_DEPTH = 6
FEW = 3
"""So many of a kind are a list."""
_ITEM = r"[^,;/|\n]{1,40}"
_LIST = re.compile(rf"{_ITEM}(?:[,;/|\n]{_ITEM}){{{FEW - 1},}}")
_NAME = re.compile(r"[\w-]*\d[\w-]*")


def described(tools: Iterable[Tool]) -> str:
    """What descriptions and schemas tell, without names of parameters, types and lists of options."""
    texts = [text for tool in tools for text in (tool.description, *_said(tool.parameters, MAX_DEPTH))]
    return "\n".join(map(without_lists, texts))


async def vain_answers(trial: Trial, seed: int, tools: Iterable[Tool]) -> str:
    """What calls that name nothing, and a wrong answer, are answered with."""
    try:
        episode = await begin(trial, seed)
        calls = [
            Move(name=tool.name, arguments=arguments) for tool in tools if (arguments := meaningless(tool)) is not None
        ]
        for move in (*calls[:MAX_CALLS], Move(f"<answer>{NONSENSE}</answer>")):
            if (await make(trial, episode, move)).over:
                break
    except OutOfSteps:
        return ""
    return "\n".join(without_lists(outcome.text) for outcome in episode.outcomes if not outcome.over)


def without_lists(text: str) -> str:
    """The text without enumerations, and without names and numbers of one look of which it holds several."""
    plain = _LIST.sub(" ", text)
    looks = Counter(_look(found) for found in set(_NAME.findall(plain)))
    return _NAME.sub(lambda found: found.group(0) if looks[_look(found.group(0))] < FEW else " ", plain)


def _look(name: str) -> str:
    """What a name or number has in common with others of its kind."""
    return re.sub(r"\d+", "0", name)


def _said(schema: Any, depth: int) -> Iterable[str]:
    """Texts and values of a schema that tell something."""
    if depth == 0:
        return
    if isinstance(schema, list):
        for item in schema:
            yield from _said(item, depth - 1)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key in ("enum", "examples") and isinstance(value, list):
                if len(value) == 1:
                    yield json.dumps(value, ensure_ascii=False)
            elif key in ("description", "title", "const", "default", "example", "pattern"):
                yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            elif isinstance(value, dict | list) and key != "required":
                yield from _said(value, depth - 1)
