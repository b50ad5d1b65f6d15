"""The success predicate of a program: which expressions decide a win, found by data flow on the text alone.

Games: what reaches reward and `terminated` of the tuples that `step` returns, and the conditions under which they are
returned. Tools: the same for `_check_answer`, the criteria that `_advance_if_done` reads, and how the expected answer
is found (method.md §2.3, §2.6). Last come the conditions under which play changes what these read. The search follows
local names, attributes, parameters, properties and methods of the module's own classes. It is not sensitive to the
order of statements, and it ends: every node is visited once, and depth and work are bounded.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from spade_sandbox.verify.expected import EXPECTED, answer_values
from spade_sandbox.verify.parse import NOT_ENVIRONMENTS
from spade_sandbox.verify.syntax import Function, Scopes, call_name, leaf, number

SETUP = frozenset({"__init__", "reset", "__post_init__"})
"""Methods that make the first state; what they assign is no verdict on play, except criteria kept for later."""
CRITERIA, ADVANCE = "_message_criteria", "_advance_if_done"
MUTATORS = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popleft", "remove", "update"}
)
MAX_DEPTH = 60
MAX_TESTS = 64
MAX_WORK = 20_000
"""Assignments, conditions and functions looked at; a text made to be slow is searched no further."""
TRANSPARENT = frozenset({
    "abs", "all", "any", "bool", "float", "int", "len", "list", "max", "min", "next", "round", "set", "sorted", "str",
    "sum", "tuple",
})  # fmt: skip
"""Calls that only pass their arguments' truth or size on."""
_TESTS = (ast.Compare, ast.BoolOp, ast.Call)
_NO_TESTS = (
    ast.Constant, ast.Lambda, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.GeneratorExp, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.Starred,
)  # fmt: skip


@dataclass(frozen=True)
class Predicate:
    """What decides a win."""

    tests: tuple[ast.expr, ...]
    """Expressions that stand for true or false, the nearest to the win first."""
    updates: tuple[ast.stmt, ...]
    """Statements in play that change an attribute which a test reads."""
    attributes: tuple[str, ...]
    """Names of the attributes that tests read, sorted."""
    values: tuple[ast.expr, ...] = ()
    """Expressions that the expected answer of a tool program is made of, the answer itself first."""


def find_predicate(tree: ast.Module) -> Predicate:
    """The success predicate of a parsed program; empty when nothing is found."""
    environment = next(
        (
            node
            for node in tree.body
            if isinstance(node, ast.ClassDef) and node.name.endswith("Env") and node.name not in NOT_ENVIRONMENTS
        ),
        None,
    )
    if environment is None:
        return Predicate((), (), ())
    search = _Search(Scopes(tree, environment))
    search.run()
    attributes = search.read_by(tuple(search.tests.values()))
    values, added = answer_values(search.scopes)
    updates = tuple(dict.fromkeys((*search.updates(attributes), *added)))
    search.ask_when(updates)
    return Predicate(tuple(search.tests.values()), updates, tuple(sorted(attributes)), values)


@dataclass
class _Search:
    """One walk backwards from the winning results."""

    scopes: Scopes
    tests: dict[int, ast.expr] = field(default_factory=dict)
    early: dict[int, ast.expr] = field(default_factory=dict)
    """Conditions of results before a winning one; looked at last."""
    seen: set[tuple[int, str]] = field(default_factory=set)
    work: int = 0

    def run(self) -> None:
        for name in ("_check_answer", ADVANCE):
            method = self.scopes.methods.get(name)
            if method is not None:
                self._outcome(method, 0)
        self._attribute(CRITERIA, 0)
        for value, _ in self.scopes.stores(EXPECTED):
            self._look(value, 0)
        step = self.scopes.methods.get("step")
        if step is not None:
            self._results(step, 0)
        for test in tuple(self.early.values()):
            self._truth(test, 0)

    def ask_when(self, updates: tuple[ast.stmt, ...]) -> None:
        """The conditions under which statements are reached, and those within what they assign."""
        self.early.clear()
        for statement in updates:
            self._guards(statement, 0)
            for node in ast.walk(statement):
                if isinstance(node, ast.IfExp):
                    self._truth(node.test, 0)
        for test in tuple(self.early.values()):
            self._truth(test, 0)

    # ── from results to what they are made of ───────────────────────────────────────────────────────────────────────

    def _results(self, function: Function, depth: int) -> None:
        """Returns of `step`, or of a method that makes its tuples."""
        if not self._first(function, "results") or depth > MAX_DEPTH:
            return
        for statement in self.scopes.returns(function):
            self._result(statement.value, statement, depth + 1)

    def _result(self, value: ast.expr | None, at: ast.AST, depth: int) -> None:
        match value:
            case ast.Tuple(elts=[_, reward, terminated, *_]):
                if _pays(reward) and _ends(terminated):
                    self._assigned(terminated, at, depth)
                    self._assigned(reward, at, depth, boolean=False)
                    self._guards(at, depth)
            case ast.Call():
                for function in self.scopes.callees(value):
                    self._results(function, depth + 1)
            case ast.IfExp():
                self._truth(value.test, depth)
                self._result(value.body, at, depth)
                self._result(value.orelse, at, depth)
            case ast.Name():
                for found, where in self.scopes.definitions(value):
                    self._result(found, where, depth + 1)

    def _outcome(self, function: Function, depth: int) -> None:
        """What a function that answers true or false returns, and when."""
        if not self._first(function, "outcome") or not self._goes_on(depth):
            return
        for statement in self.scopes.returns(function):
            if statement.value is not None:
                self._guards(statement, depth + 1)
                if not isinstance(statement.value, ast.Constant) and function.name != ADVANCE:
                    self._truth(statement.value, depth + 1)

    def _assigned(self, value: ast.expr, at: ast.AST, depth: int, *, boolean: bool = True) -> None:
        """A value that becomes a verdict: a lasting yes says when, a no says nothing, the rest is looked into."""
        if not self._goes_on(depth):
            return
        constant = number(value)
        if constant is not None:
            if constant > 0:
                self._guards(at, depth)
            return
        if isinstance(value, ast.Constant):
            return
        self._guards(at, depth)
        self._truth(value, depth, boolean=boolean)

    def _guards(self, at: ast.AST, depth: int) -> None:
        """Conditions under which a statement is reached, the innermost first."""
        if not self._goes_on(depth):
            return
        node = at
        for parent in self.scopes.parents_within_function(at):
            if isinstance(parent, ast.If | ast.While | ast.IfExp) and node is not parent.test:
                self._truth(parent.test, depth + 1)
            elif isinstance(parent, ast.match_case) and parent.guard is not None and node is not parent.guard:
                self._truth(parent.guard, depth + 1)
            self.early |= {id(test): test for test in self.scopes.leaving_before(parent, node, MAX_TESTS)}
            node = parent

    # ── from a truth value to its parts ─────────────────────────────────────────────────────────────────────────────

    def _truth(self, node: ast.expr, depth: int, *, boolean: bool = True) -> None:
        """Look into an expression. `boolean`: it stands where true or false is asked, so it is a test itself."""
        if depth > MAX_DEPTH or len(self.tests) >= MAX_TESTS or not self._first(node, "truth"):
            return
        if (boolean and not isinstance(node, _NO_TESTS)) or isinstance(node, ast.Compare | ast.BoolOp):
            self.tests[id(node)] = node
        self._look(node, depth, boolean=boolean)

    def _look(self, node: ast.expr, depth: int, *, boolean: bool = True) -> None:
        """Follow an expression to its origins; its own parts belong to the test around it."""
        if depth > MAX_DEPTH or not self._first(node, "look"):
            return
        for part in _within(node):
            self._look(part, depth + 1, boolean=boolean)
        for part in _values(node):
            self._truth(part, depth + 1, boolean=False)
        for part in _asked(node):
            self._truth(part, depth + 1)
        self._follow(node, depth, boolean=boolean)

    def _follow(self, node: ast.expr, depth: int, *, boolean: bool = True) -> None:
        """From a name, attribute or call to where its value comes from."""
        match node:
            case ast.Name():
                for value, at in self.scopes.definitions(node):
                    self._assigned(value, at, depth + 1, boolean=boolean)
                for source in self.scopes.iterated(node):
                    self._look(source, depth + 1)
                for function in self.scopes.named(node.id):
                    self._outcome(function, depth + 1)
            case ast.Attribute():
                self._attribute(node.attr, depth + 1, boolean=boolean)
            case ast.Call():
                for function in self.scopes.callees(node):
                    self._outcome(function, depth + 1)
                if not self.scopes.callees(node) and not isinstance(node.func, ast.Attribute):
                    self._look(node.func, depth + 1)
            case ast.Subscript():
                self._look(node.value, depth + 1)
            case ast.Compare(left=left, comparators=others):
                for side in (left, *others):
                    if isinstance(side, ast.Call):
                        self._look(side, depth + 1)

    def _attribute(self, name: str, depth: int, *, boolean: bool = True) -> None:
        """Where an attribute gets its value in play; from set-up only what is kept to be called later."""
        if depth > MAX_DEPTH or (0, name) in self.seen:
            return
        self.seen.add((0, name))
        for function in self.scopes.named(name):
            self._outcome(function, depth)
        for value, at in self.scopes.stores(name):
            around = self.scopes.function_of(at)
            if around is not None and around.name not in SETUP:
                self._assigned(value, at, depth, boolean=boolean)
            for kept in self._kept(value):
                if isinstance(kept, ast.Lambda):
                    self._truth(kept.body, depth + 1)
                else:
                    self._follow(kept, depth + 1)

    def _kept(self, value: ast.expr) -> Iterator[ast.expr]:
        """Lambdas and functions that are stored in a value, not called in it."""
        called = {id(node.func) for node in ast.walk(value) if isinstance(node, ast.Call)}
        for node in ast.walk(value):
            if isinstance(node, ast.Lambda):
                yield node
            elif isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
                name = node.id if isinstance(node, ast.Name) else node.attr
                if self.scopes.named(name):
                    yield node

    def _goes_on(self, depth: int) -> bool:
        self.work += 1
        return depth <= MAX_DEPTH and self.work <= MAX_WORK and len(self.tests) < MAX_TESTS

    def _first(self, node: ast.AST, why: str) -> bool:
        key = (id(node), why)
        if key in self.seen:
            return False
        self.seen.add(key)
        return True

    # ── what tests read, and what changes it ────────────────────────────────────────────────────────────────────────

    def read_by(self, tests: tuple[ast.expr, ...]) -> frozenset[str]:
        """Attributes that the tests read, in themselves or in the locals that they name."""
        read: set[str] = set()
        locals_read: dict[tuple[str, int], ast.Name] = {}
        for test in tests:
            for node in ast.walk(test):
                if isinstance(node, ast.Attribute):
                    read.add(node.attr)
                elif isinstance(node, ast.Name):
                    locals_read.setdefault((node.id, id(self.scopes.function_of(node))), node)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    read.add(node.value)  # an entry of a state dict
        for name in locals_read.values():
            for value, _ in self.scopes.definitions(name):
                read |= {part.attr for part in ast.walk(value) if isinstance(part, ast.Attribute)}
        return frozenset(name for name in read if self.scopes.is_state(name))

    def updates(self, attributes: frozenset[str]) -> Iterator[ast.stmt]:
        """Statements outside set-up that change one of the attributes, in the order of the text."""
        for node in self.scopes.statements():
            function = self.scopes.function_of(node)
            if function is None or function.name in SETUP or self.scopes.in_while(node):
                continue
            if any(leaf(target) in attributes for target in changed(node)):
                yield node


def _within(node: ast.expr) -> tuple[ast.expr, ...]:
    """Parts whose truth or size makes this one's; a change of them is a change of the test around."""
    match node:
        case ast.BoolOp(values=parts):
            return tuple(parts)
        case ast.UnaryOp(operand=part) | ast.NamedExpr(value=part):
            return (part,)
        case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
            return (one, other)
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
            return tuple(generator.iter for generator in node.generators)
    return ()


def _values(node: ast.expr) -> tuple[ast.expr, ...]:
    """Parts that are handed on as they are."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return tuple(elements)
        case ast.Dict(values=values):
            return tuple(values)
        case ast.Call() if call_name(node) in TRANSPARENT:
            return tuple(node.args)
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element) | ast.SetComp(elt=element):
            return () if isinstance(element, _TESTS) else (element,)
    return ()


def _asked(node: ast.expr) -> tuple[ast.expr, ...]:
    """Parts that are tests of their own."""
    match node:
        case ast.IfExp(test=test):
            return (test,)
        case ast.Lambda(body=body):
            return (body,)
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element) | ast.SetComp(elt=element):
            tests = tuple(test for generator in node.generators for test in generator.ifs)
            return (element, *tests) if isinstance(element, _TESTS) else tests
    return ()


def changed(node: ast.stmt) -> tuple[ast.expr, ...]:
    """Attributes and entries that a statement changes."""
    match node:
        case ast.Assign(targets=targets):
            parts = [
                part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else (target,))
            ]
            return tuple(part for part in parts if isinstance(part, ast.Attribute | ast.Subscript))
        case ast.AugAssign(target=ast.Attribute() | ast.Subscript() as target):
            return (target,)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method))) if method in MUTATORS:
            return (owner,)
    return ()


def _pays(reward: ast.expr) -> bool:
    """Whether a reward may be full (method.md §2.2)."""
    constant = number(reward)
    return constant is None or constant >= 1.0 - 1e-6


def _ends(terminated: ast.expr) -> bool:
    return not isinstance(terminated, ast.Constant) or bool(terminated.value)
