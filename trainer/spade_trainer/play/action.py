r"""The command in a player's reply (method.md §1.7, D19): what stands in a `\boxed{…}`."""

import re

from spade_contracts.config.switches import BoxedAction

THINK_END = "</think>"
_PLAIN = re.compile(r"\\boxed\{{1,3}([^{}]*)\}{1,3}")
_OPEN = re.compile(r"\\boxed\s*\{")


def parse_action(reply: str, which: BoxedAction) -> str:
    r"""The action that goes to the environment: one command, re-wrapped as `\boxed{…}`, or the stripped reply.

    Only what follows the last think-close tag counts. FIRST is the reference's rule: the first box whose content has
    no braces (its braces may be doubled or tripled), else a balanced box from the last `\boxed`. LAST is the last
    balanced box, with such doubled braces taken off. Vectors: V28.
    """
    text = reply.rpartition(THINK_END)[2]
    if which is BoxedAction.FIRST:
        plain = _PLAIN.search(text)
        content = plain.group(1) if plain else _last_balanced(text)
    else:
        content = _last_balanced(text)
    return text.strip() if content is None else f"\\boxed{{{content}}}"


def _last_balanced(text: str) -> str | None:
    r"""Content of the last `\boxed{…}` whose braces close, without doubled outer braces; None if there is none."""
    for opening in reversed(list(_OPEN.finditer(text))):
        depth, start = 1, opening.end()
        for position in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[position], 0)
            if depth == 0:
                return _unwrapped(text[start:position])
    return None


def _unwrapped(content: str) -> str:
    """The content without braces that enclose all of it."""
    while len(content) > 1 and content[0] == "{" and content[-1] == "}" and _closes_at_end(content):
        content = content[1:-1]
    return content


def _closes_at_end(content: str) -> bool:
    """Whether the first brace is closed by the last character."""
    depth = 0
    for position, character in enumerate(content):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return position == len(content) - 1
    return False
