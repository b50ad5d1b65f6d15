"""The request for a hint: the whole program goes in, one short plain text comes out (method.md §3)."""

import json
import re

from spade_trainer.design.prompt import PACKAGE, ChatMessage
from spade_trainer.design.sections import fill, load_sections

_JSON_FENCE = re.compile(r"```json\s*\n(.*?)```", re.DOTALL)


def hint_messages(template: str, program: str) -> list[ChatMessage]:
    """System and user message that ask for a hint to one program.

    template: `hint_full` or `hint_compact`. Raises FileNotFoundError for another name."""
    text = load_sections(PACKAGE, template)
    return [
        {"role": "system", "content": text["system"]},
        {"role": "user", "content": fill(text["user"], {"program": program.strip()})},
    ]


def parse_hint(answer: str) -> str | None:
    """The hint in an answer: its plain text, or the value of "hint" in a json fence if there is one.

    None if nothing is left, which the caller treats as a failed attempt (method.md §3)."""
    text = answer.strip()
    fence = _JSON_FENCE.search(text)
    if fence:
        try:
            value = json.loads(fence.group(1))
        except json.JSONDecodeError:
            value = None
        if isinstance(value, dict) and isinstance(value.get("hint"), str):
            text = value["hint"].strip()
    return text or None
