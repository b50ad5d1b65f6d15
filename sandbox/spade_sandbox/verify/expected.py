"""How the expected answer of a tool program is found: the expressions that it is made of, by data flow on the text.

What draws by chance, and the state that tools show, is the task and not its answer; there the search ends.
"""

import ast
from collections.abc import Iterator

from spade_sandbox.verify.syntax import Definition, Scopes, call_name

EXPECTED, STATE = "_expected_answer", "_state"
MAX_VALUES = 64
CHANCE = frozenset({"choice", "choices", "gauss", "randint", "random", "randrange", "sample", "shuffle", "uniform"})


def answer_values(scopes: Scopes) -> tuple[tuple[ast.expr, ...], tuple[ast.stmt, ...]]:
    """Expressions, the answer itself first, and statements that add to one of them."""
    found: dict[int, ast.expr] = {}
    added: dict[int, ast.stmt] = {}
    waiting: list[Definition] = [*scopes.stores(EXPECTED)]
    for value, at in waiting:  # it grows
        if len(found) == MAX_VALUES:
            break
        if id(value) in found or isinstance(value, ast.Constant) or _draws(value):
            continue
        found[id(value)] = value
        if isinstance(at, ast.AugAssign):
            added[id(at)] = at
        waiting += _origins(value, scopes)
    return tuple(found.values()), tuple(added.values())


def _origins(value: ast.expr, scopes: Scopes) -> Iterator[Definition]:
    for node in ast.walk(value):
        match node:
            case ast.Name():
                yield from scopes.definitions(node)
            case ast.Attribute(attr=name) if name != STATE:
                yield from scopes.stores(name)
            case ast.Call():
                for function in scopes.callees(node):
                    yield from ((found.value, found) for found in scopes.returns(function) if found.value is not None)


def _draws(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and call_name(node) in CHANCE for node in ast.walk(value))
