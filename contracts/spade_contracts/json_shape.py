"""Shapes of JSON text. Too many values are refused unparsed: 4 MiB of small wrong values cost a validator gigabytes."""

from pydantic_core import from_json

MAX_VALUES = 2_000
"""More values than any message of the session protocol holds (its largest is an inspection, with about 600)."""


def has_more_values(text: bytes | bytearray, limit: int = MAX_VALUES) -> bool:
    """Whether JSON text holds more than about `limit` values, whatever its strings hold. Builds none of them.

    Text that is no JSON gets some answer; the parser will refuse it.
    """
    if len(text) <= limit or _separators(text) <= limit:
        return False
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")  # what is left of quotes begins and ends strings
    if bare.count(b'"') > 4 * limit:
        return True
    return sum(_separators(outside) for outside in bare.split(b'"')[::2]) > limit


def json_object(text: str) -> str:
    """The text, if it is a JSON object; its parser bounds nesting, so that no reader downstream must. Or ValueError."""
    if not isinstance(from_json(text, allow_inf_nan=False), dict):
        raise ValueError("is no JSON object")
    return text


def _separators(text: bytes | bytearray) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")
