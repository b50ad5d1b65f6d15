"""Libraries that environment programs may import: what the gate allows, the pod holds, and a prompt may name.

No imports here: the pod's zygote reads this list without pulling pydantic into every cell.
"""

ALLOWED_LIBRARIES: tuple[str, ...] = (
    "__future__", "abc", "array", "base64", "binascii", "bisect", "calendar", "cmath", "collections",
    "collections.abc", "colorsys", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib",
    "enum", "fractions", "functools", "graphlib", "hashlib", "heapq", "io", "itertools", "json", "keyword", "math",
    "numbers", "numpy", "operator", "pprint", "queue", "random", "re", "statistics", "string", "struct", "textwrap",
    "time", "traceback", "types", "typing", "unicodedata", "uuid", "warnings", "weakref",
)  # fmt: skip
"""Submodules of these come with them. Everything else fails to import in a cell, which has no files."""
