"""Another text for the same program: other names, another order of methods, other instances behind the same seeds.

Canaries go through the gate in this form, so that neither their digest nor a name or text gives them away. What the
contract or a tool's schema names stays (method.md §2.3, §2.6), and a new name still holds the word of the old one,
because a stage may go by what a name means. Comments and docstrings go, the opening observation gets a sentence in
front, and the seeds of the program's generators are mixed with the disguise's own, so that a transcript recorded from
another disguise is worth nothing.
"""

import ast
import builtins
import collections
import random
import re
from collections.abc import Iterable, Iterator

from spade_sandbox.verify.trees import expression_of, module_of

_CONTRACT = frozenset(
    {"reset", "step", "solution", "close", "max_turns", "seed", "action", "turn_count", "get_tools", "execute_tool",
     "_tools", "_state", "_call_history", "_expected_answer", "_user_messages", "_message_criteria", "_current_msg",
     "_advance_if_done", "_check_answer", "_feedback", "_respond"}
)  # fmt: skip
"""Names that callers and base classes know."""
_FOREIGN = frozenset(
    name
    for kind in (str, bytes, list, dict, set, tuple, int, float, BaseException, random.Random, re.Match, re.Pattern,
                 collections.Counter, collections.deque, collections.OrderedDict)
    for name in dir(kind)
) | frozenset(dir(builtins))  # fmt: skip
"""Attributes of other objects, which a rename by name alone would break."""
_SYLLABLES = ("ba", "co", "den", "fir", "gal", "hu", "jor", "kel", "lim", "mor", "nav", "osk", "pel", "ren", "sol",
              "tir", "ul", "ven", "wes", "zan")  # fmt: skip
_OPENINGS = ("Welcome.", "A new round begins.", "Here is your task.", "Ready?", "Listen.", "This is how it starts.",
             "Good luck.", "Take your time.", "Your turn.", "It begins.")  # fmt: skip


def disguise(source: str, seed: int) -> str:
    """The program under the disguise with this number; equal numbers give equal texts. Source must parse."""
    rng = random.Random(seed)  # noqa: S311  # a draw that can be repeated
    tree = module_of(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            _without_docstring(node)
        if isinstance(node, ast.ClassDef):
            _shuffled_methods(node, rng)
    fresh = _Fresh(tree, rng)
    renamed = _Rename(_own_attributes(tree, fresh), _module_names(tree, fresh), fresh).visit(tree)
    for node in ast.walk(renamed):
        if isinstance(node, ast.Call):
            _mix_seed(node, rng)
        if isinstance(node, ast.FunctionDef) and node.name == "reset":
            _open_otherwise(node, rng)
    return ast.unparse(ast.fix_missing_locations(renamed)) + "\n"


def _without_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> None:
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:] or [ast.Pass()]


def _shuffled_methods(node: ast.ClassDef, rng: random.Random) -> None:
    """Plain methods in another order, behind all else. A decorated one may need what stands before it."""
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and not item.decorator_list]
    rest = [item for item in node.body if item not in methods]
    rng.shuffle(methods)
    node.body = [*rest, *methods]


class _Fresh:
    """New names that the program does not use."""

    def __init__(self, tree: ast.Module, rng: random.Random) -> None:
        self._rng = rng
        self._used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | _FOREIGN | _CONTRACT
        self._used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}

    def name(self, old: str) -> str:
        """Another name with the same word at its end."""
        while True:
            front = "".join(self._rng.sample(_SYLLABLES, 2))
            new = f"{'_' if old.startswith('_') else ''}{front}_{old.lstrip('_')}"
            if new not in self._used:
                self._used.add(new)
                return new


def _own_attributes(tree: ast.Module, fresh: _Fresh) -> dict[str, str]:
    """New names of what the program's classes define: methods, class variables, fields, attributes of self."""
    defined: dict[str, None] = {}
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for item in owner.body:
            defined |= dict.fromkeys(_bound_in_class(item))
        for node in ast.walk(owner):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
                defined[node.attr] = None
    kept = _CONTRACT | _FOREIGN
    return {n: fresh.name(n) for n in defined if n not in kept and not n.startswith(("__", "tool_"))}


def _bound_in_class(item: ast.stmt) -> Iterator[str]:
    if isinstance(item, ast.FunctionDef):
        yield item.name
    elif isinstance(item, ast.Assign):
        yield from (target.id for target in item.targets if isinstance(target, ast.Name))
    elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
        yield item.target.id


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _module_names(tree: ast.Module, fresh: _Fresh) -> dict[str, str]:
    """New names of the module's own classes, functions and constants; classes keep their ending."""
    names: dict[str, str] = {}
    for item in tree.body:
        if isinstance(item, ast.ClassDef):
            names[item.name] = fresh.name(item.name).title().replace("_", "").removesuffix("env")
            names[item.name] += "Env" if item.name.endswith("Env") else ""
        elif isinstance(item, ast.FunctionDef):
            names[item.name] = fresh.name(item.name)
        elif isinstance(item, ast.Assign):
            constants = (target.id for target in item.targets if isinstance(target, ast.Name))
            names |= {name: fresh.name(name).upper() for name in constants if name not in names}
    return names


class _Rename(ast.NodeTransformer):
    """One walk; locals get their names function by function."""

    def __init__(self, attributes: dict[str, str], module: dict[str, str], fresh: _Fresh) -> None:
        self._attributes = attributes
        self._module = module
        self._fresh = fresh
        self._names: dict[str, str] = dict(module)
        """As they are where the walk is."""
        self._in_class = False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._module.get(node.name, node.name)
        outer, self._in_class = self._in_class, True
        self.generic_visit(node)
        self._in_class = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if self._in_class:
            node.name = self._attributes.get(node.name, node.name)
            return self._function(node)
        node.name = self._names.get(node.name, node.name)
        return self._function(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if self._in_class and node.id in self._attributes:
            node.id = self._attributes[node.id]  # a class variable, in the body of its class
        else:
            node.id = self._names.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._attributes.get(node.attr, node.attr)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        own = isinstance(node.func, ast.Name) and node.func.id in self._module
        for keyword in node.keywords if own else ():
            keyword.arg = self._attributes.get(keyword.arg or "", keyword.arg)
        return self.generic_visit(node)

    def _function(self, node: ast.FunctionDef) -> ast.AST:
        """A method or function with all that is nested in it, as one scope; parameters keep their names."""
        outer, in_class = self._names, self._in_class
        if in_class or outer == self._module:
            parameters = {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
            bound = dict.fromkeys(_bound_in_function(node))
            own = [name for name in bound if name not in parameters | self._module.keys() | _FOREIGN]
            hidden = parameters & self._module.keys()
            self._names = {name: new for name, new in outer.items() if name not in hidden}
            self._names |= {name: self._fresh.name(name) for name in own}
        self._in_class = False
        self.generic_visit(node)
        self._names, self._in_class = outer, in_class
        return node


def _bound_in_function(node: ast.FunctionDef) -> Iterator[str]:
    fixed = {name for one in ast.walk(node) if isinstance(one, ast.Global | ast.Nonlocal) for name in one.names}
    fixed |= {one.name for one in ast.walk(node) if isinstance(one, ast.ExceptHandler) and one.name}
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id not in fixed:
            yield one.id
        elif isinstance(one, ast.FunctionDef) and one is not node and one.name not in fixed:
            yield one.name


def _mix_seed(call: ast.Call, rng: random.Random) -> None:
    """`Random(seed)` and `default_rng(…)` draw from a stream of this disguise."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name not in ("Random", "default_rng") or len(call.args) != 1:
        return
    factor, offset = 2 * rng.randrange(1, 500_000) + 1, rng.randrange(1_000_000)
    match call.args[0]:
        case ast.Name(id="seed"):
            call.args[0] = expression_of(f"(seed or 0) * {factor} + {offset}").body
        case ast.Constant(value=int()):
            call.args[0] = ast.Constant(offset)
        case ast.IfExp() as choice:
            call.args[0] = ast.BinOp(
                ast.BinOp(choice, ast.Mult(), ast.Constant(factor)), ast.Add(), ast.Constant(offset)
            )


def _open_otherwise(reset: ast.FunctionDef, rng: random.Random) -> None:
    """A sentence before the opening observation of each `return text, info`."""
    opening = rng.choice(_OPENINGS)
    for node in _returns(reset.body):
        if isinstance(node.value, ast.Tuple) and node.value.elts:
            text = node.value.elts[0]
            node.value.elts[0] = ast.BinOp(ast.Constant(f"{opening} "), ast.Add(), text)


def _returns(body: Iterable[ast.stmt]) -> Iterator[ast.Return]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Return):
                yield node
