"""What a program returns, taken with exact types (method.md §4.1).

Runs in the cell, next to the program, which can tamper with it: the supervisor and the client check everything again.
What is checked here gives honest programs their precise error.
"""

import math

MAX_INFO_ENTRIES = 32
MAX_INFO_KEY_CHARACTERS = 64
MAX_INFO_TEXT_CHARACTERS = 500
MAX_INFO_INTEGER = 2**63 - 1


class InvalidReturn(Exception):
    """The program returned something of a wrong type, size or value; `limit` is the protocol's word for a size."""

    def __init__(self, message: str, limit: str | None = None) -> None:
        self.limit = limit
        super().__init__(message)


def text(value: object, limit_characters: int, what: str = "a text") -> str:
    """A plain string of valid Unicode within the limit."""
    if type(value) is not str:
        raise InvalidReturn(f"{what} is {kind(value)}, not str")
    if len(value) > limit_characters:
        message = f"{what} has {len(value)} characters; at most {limit_characters} are allowed"
        raise InvalidReturn(message, limit="observation")
    if not value.isascii() and not is_unicode(value):
        raise InvalidReturn(f"{what} is not valid Unicode")
    return value


def reward(value: object) -> float:
    """A finite number that is no truth value."""
    if type(value) is not float and type(value) is not int:
        raise InvalidReturn(f"reward is {kind(value)}, not float")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidReturn("reward is not finite")
    return number


def info(value: object) -> dict[str, bool | int | float | str]:
    """Short scalars of an info dict; the rest is left out, because nothing is computed from it."""
    if type(value) is not dict:
        raise InvalidReturn(f"info is {kind(value)}, not dict")
    kept: dict[str, bool | int | float | str] = {}
    for key, item in value.items():
        if len(kept) == MAX_INFO_ENTRIES:
            break
        if type(key) is not str or len(key) > MAX_INFO_KEY_CHARACTERS or not is_unicode(key):
            continue
        if _is_short_number(item):
            kept[key] = item
        elif type(item) is str and is_unicode(item):
            kept[key] = item[:MAX_INFO_TEXT_CHARACTERS]
    return kept


def is_unicode(value: str) -> bool:
    """Whether a string can be sent: a lone surrogate cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def kind(value: object) -> str:
    """Name of a value's type, for messages."""
    named = type(value)
    return named.__name__[:100] if named.__module__ == "builtins" else f"{named.__module__}.{named.__name__}"[:100]


def _is_short_number(value: object) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is bool or (type(value) is int and abs(value) <= MAX_INFO_INTEGER)
