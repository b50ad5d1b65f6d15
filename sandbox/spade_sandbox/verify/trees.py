"""Syntax trees of programs, built by one thread at a time.

CPython before 3.11.5 counts the depth of the tree that it builds in one place for all threads, and raises SystemError
when two of them build (CPython issue 106905). Mutants are made in threads beside the loop's own parsing.
"""

import ast
import threading
from typing import Any

_ONE_AT_A_TIME = threading.Lock()


def module_of(source: str) -> ast.Module:
    """The tree of a program. Raises what `ast.parse` raises."""
    with _ONE_AT_A_TIME:
        return ast.parse(source)


def expression_of(text: str) -> ast.Expression:
    """The tree of an expression. Raises what `ast.parse` raises."""
    with _ONE_AT_A_TIME:
        return ast.parse(text, mode="eval")


def literal_of(text: str) -> Any:
    """The value of a literal. Raises what `ast.literal_eval` raises."""
    return ast.literal_eval(expression_of(text.lstrip(" \t")))
