"""Texts as words and numbers, to find one in another. Pure."""

import re

_TOKEN = re.compile(r"[^\W_]+")


def tokens(text: str) -> tuple[str, ...]:
    """Words and numbers in lower case."""
    return tuple(token.lower() for token in _TOKEN.findall(text))


def within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether one sequence stands in another in one piece."""
    length = len(part)
    return any(whole[start : start + length] == part for start in range(len(whole) - length + 1))
