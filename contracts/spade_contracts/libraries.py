"""Libraries that environment programs may import: what the gate allows, the pod holds, and a prompt may name.

The standard library only: the pod's zygote reads this list without pulling pydantic into every cell.
"""

import re

ALLOWED_LIBRARIES: tuple[str, ...] = (
    "__future__", "abc", "array", "base64", "binascii", "bisect", "calendar", "cmath", "collections",
    "collections.abc", "colorsys", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib",
    "enum", "fractions", "functools", "graphlib", "hashlib", "heapq", "io", "itertools", "json", "keyword", "math",
    "numbers", "numpy", "operator", "pprint", "queue", "random", "re", "statistics", "string", "struct", "textwrap",
    "time", "traceback", "types", "typing", "unicodedata", "uuid", "warnings", "weakref",
)  # fmt: skip
"""Submodules of these come with them. Everything else fails to import in a cell, which has no files."""

_NAMES_NUMPY = re.compile(r"\b(?:numpy|np)\b")


def names_numpy(source: str) -> bool:
    """Whether a program's text has a word by which it could reach numpy; only then its cell holds it."""
    return _NAMES_NUMPY.search(source) is not None
