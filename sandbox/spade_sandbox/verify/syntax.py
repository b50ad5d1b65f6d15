"""Questions about a parsed program that several stages ask: who calls whom, what a name was given, what encloses what.

All answers are about the text. A name is resolved by its spelling: a method of any class of the module answers to its
name, which is enough for programs of one file and errs on the side of finding more.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = tuple[ast.expr, ast.AST]
"""A value, and where it is given: a statement, a call, a return."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class Scopes:
    """One module, seen from its environment class."""

    def __init__(self, tree: ast.Module, environment: ast.ClassDef) -> None:
        self._nodes = tuple(_in_order(tree))
        self._parents = {id(child): node for node in self._nodes for child in ast.iter_child_nodes(node)}
        self._around: dict[int, Function] = {}
        for node in self._nodes:  # parents come before their children
            parent = self._parents.get(id(node))
            around = parent if isinstance(parent, Function) else self._around.get(id(parent))
            if around is not None:
                self._around[id(node)] = around
        self._functions: dict[str, list[Function]] = defaultdict(list)
        self._calls: dict[str, list[ast.Call]] = defaultdict(list)
        for node in self._nodes:
            if isinstance(node, Function):
                self._functions[node.name].append(node)
            elif isinstance(node, ast.Call):
                self._calls[call_name(node)].append(node)
        self._leaves: dict[int, list[ast.expr]] = {}
        self.methods = _methods(tree, environment)
        """Methods of the environment, inherited ones of the module's own classes included."""

    def named(self, name: str) -> tuple[Function, ...]:
        """All functions and methods of a name."""
        return tuple(self._functions.get(name, ()))

    def callees(self, call: ast.Call) -> tuple[Function, ...]:
        """Functions of the module that a call may reach."""
        return self.named(call_name(call))

    def own_nodes(self, function: Function) -> Iterator[ast.AST]:
        """Nodes of a function's body, without those of functions and classes within it."""
        waiting: list[ast.AST] = list(reversed(function.body))
        while waiting:
            node = waiting.pop()
            yield node
            if not isinstance(node, _SCOPES):
                waiting += reversed(list(ast.iter_child_nodes(node)))

    def returns(self, function: Function) -> Iterator[ast.Return]:
        """The function's own return statements."""
        return (node for node in self.own_nodes(function) if isinstance(node, ast.Return))

    def function_of(self, node: ast.AST) -> Function | None:
        """The innermost function around a node; lambdas do not count."""
        return self._around.get(id(node))

    def parents_within_function(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses a node, the innermost first, up to its function."""
        parent = self._parents.get(id(node))
        while parent is not None:
            yield parent
            if isinstance(parent, Function):
                return
            parent = self._parents.get(id(parent))

    def in_while(self, node: ast.AST) -> bool:
        """Whether a node stands in a while loop of its function; skipping it might make the loop endless."""
        return any(isinstance(parent, ast.While) for parent in self.parents_within_function(node))

    def leaving_before(self, parent: ast.AST, node: ast.AST, limit: int) -> list[ast.expr]:
        """Tests of the `if`s before a statement, in its block, that can leave it; at most so many, nearest first."""
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and node in block:
                found: list[ast.expr] = []
                at = block.index(node)
                for statement in reversed(block[max(0, at - limit) : at]):
                    found += self._leaving(statement)
                return found[:limit]
        return []

    def _leaving(self, statement: ast.stmt) -> list[ast.expr]:
        if id(statement) not in self._leaves:
            self._leaves[id(statement)] = [
                part.test
                for part in ast.walk(statement)
                if isinstance(part, ast.If) and any(isinstance(leaf, _LEAVING) for leaf in ast.walk(part))
            ]
        return self._leaves[id(statement)]

    def definitions(self, name: ast.Name) -> tuple[Definition, ...]:
        """Values that a local name, or a parameter, is given."""
        function = self.function_of(name)
        while function is not None:
            found = self._bound[id(function)].get(name.id)
            if found is not None:
                return tuple(found)
            if name.id in _parameters(function):
                return tuple(self._arguments(function, name.id))
            function = self.function_of(function)
        return ()

    def iterated(self, name: ast.Name) -> tuple[ast.expr, ...]:
        """What a loop variable runs over."""
        function = self.function_of(name)
        return tuple(self._loops.get((id(function), name.id), ()))

    def stores(self, attribute: str) -> tuple[Definition, ...]:
        """Values that an attribute of this name is given, anywhere."""
        return tuple(self._stores.get(attribute, ()))

    def is_state(self, name: str) -> bool:
        """Whether an attribute, a field of a class or an entry of a mapping of this name is ever set."""
        return name in self._stores or name in self._keys

    def statements(self) -> Iterator[ast.stmt]:
        """All statements in the order of the text."""
        return (node for node in self._nodes if isinstance(node, ast.stmt))

    def _arguments(self, function: Function, parameter: str) -> Iterator[Definition]:
        """What the calls of a function hand over for a parameter; its default too."""
        names = _parameters(function)
        position = names.index(parameter)
        default = _default(function, parameter)
        if default is not None:
            yield default, function
        for call in self._calls.get(function.name, ()):
            offset = 1 if names[:1] == ["self"] and isinstance(call.func, ast.Attribute) else 0
            for keyword in call.keywords:
                if keyword.arg == parameter:
                    yield keyword.value, call
            if 0 <= position - offset < len(call.args):
                yield call.args[position - offset], call

    @cached_property
    def _bound(self) -> dict[int, dict[str, list[Definition]]]:
        """Function → local name → its values."""
        bound: dict[int, dict[str, list[Definition]]] = defaultdict(dict)
        for node in self._nodes:
            function = self.function_of(node)
            if function is None:
                continue
            for target, value in self._given(node):
                if isinstance(target, ast.Name):
                    bound[id(function)].setdefault(target.id, []).append(value)
        return bound

    @cached_property
    def _stores(self) -> dict[str, list[Definition]]:
        stores: dict[str, list[Definition]] = defaultdict(list)
        for node in self._nodes:
            for target, value in self._given(node):
                if isinstance(target, ast.Attribute):
                    stores[target.attr].append(value)
        return stores

    @cached_property
    def _keys(self) -> frozenset[str]:
        """Entries that are set, and fields that are declared."""
        found: set[str] = set()
        for node in self._nodes:
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                found.add(leaf(node))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
            elif isinstance(node, ast.Dict):
                found |= {key.value for key in node.keys if isinstance(key, ast.Constant) and type(key.value) is str}
        return frozenset(found)

    @cached_property
    def _loops(self) -> dict[tuple[int, str], list[ast.expr]]:
        loops: dict[tuple[int, str], list[ast.expr]] = defaultdict(list)
        for node in self._nodes:
            if isinstance(node, ast.For | ast.comprehension):
                function = self.function_of(node)
                for part in ast.walk(node.target):
                    if isinstance(part, ast.Name):
                        loops[id(function), part.id].append(node.iter)
        return loops

    def _given(self, node: ast.AST) -> Iterator[tuple[ast.expr, Definition]]:
        """Targets that a node gives values to."""
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from self._unpacked(target, value, node)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield target, (value, node)
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                yield target, (value, node)

    def _unpacked(self, target: ast.expr, value: ast.expr, at: ast.AST) -> Iterator[tuple[ast.expr, Definition]]:
        if not isinstance(target, ast.Tuple | ast.List):
            yield target, (value, at)
        elif isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            for part, piece in zip(target.elts, value.elts, strict=True):
                yield part, (piece, at)
        elif isinstance(value, ast.Call):
            for function in self.callees(value):
                for found in self.returns(function):
                    if isinstance(found.value, ast.Tuple) and len(found.value.elts) == len(target.elts):
                        for part, piece in zip(target.elts, found.value.elts, strict=True):
                            yield part, (piece, found)


def call_name(call: ast.Call) -> str:
    """The last name of what is called: `f` of `f()` and of `a.b.f()`, otherwise nothing."""
    if isinstance(call.func, ast.Name):
        return call.func.id
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def leaf(target: ast.expr) -> str:
    """What a store changes: `here` of `self.ring.here`, `paid` of `state["paid"]`, `grid` of `self.grid[r][c]`."""
    node: ast.expr = target
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            return node.attr
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return node.slice.value
        node = node.value
    return ""


def number(node: ast.expr) -> float | None:
    """The value of a number or truth value written out, signed or not; None for anything else."""
    sign = 1.0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1.0, node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        try:
            return sign * float(node.value)
        except OverflowError:
            return sign * float("inf")
    return None


def _in_order(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes in the order of the text, without recursion: a hostile text is deep."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(list(ast.iter_child_nodes(node)))


def _methods(tree: ast.Module, environment: ast.ClassDef) -> dict[str, Function]:
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    methods: dict[str, Function] = {}
    waiting, seen = [environment], set[str]()
    while waiting:
        node = waiting.pop(0)
        if node.name in seen:
            continue
        seen.add(node.name)
        for item in node.body:
            if isinstance(item, Function):
                methods.setdefault(item.name, item)
        waiting += [classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
    return methods


def _parameters(function: Function) -> list[str]:
    arguments = function.args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _default(function: Function, parameter: str) -> ast.expr | None:
    arguments = function.args
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(
        zip([a.arg for a in placed[len(placed) - len(arguments.defaults) :]], arguments.defaults, strict=True)
    )
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            defaults[argument.arg] = default
    return defaults.get(parameter)
