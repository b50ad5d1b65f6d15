"""Mutants of a program's success predicate: the same program with one small fault in what decides a win.

Pure: the text is parsed, never compiled or run. A mutant is a replacement of one piece of the text, so that everything
else stays as it was written, and many mutants can stand in one text (`combined`), chosen by a number at run time.
"""

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from spade_sandbox.verify.predicate import Predicate, changed, find_predicate
from spade_sandbox.verify.syntax import call_name
from spade_sandbox.verify.trees import module_of

SWITCH = "_spade_mutant"
"""Name of the number that chooses a mutant of a combined text; 0 is the original."""
SHOWN_CHARACTERS = 120
MAX_OFFERED = 2_000
MAX_PARTS = 32
"""A longer conjunction or comparison is changed as a whole only."""
MAX_REPLACEMENT_CHARACTERS = 2_000
NodeT = TypeVar("NodeT", bound=ast.AST)
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_RELAXED: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.Gt: ">="}
_TIGHTENED: dict[type[ast.cmpop], str] = {ast.LtE: "<", ast.GtE: ">"}
_TEXTS = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set)
_QUANTIFIERS = {"all": "any", "any": "all"}
_FOLDS = _QUANTIFIERS | {"max": "min", "min": "max", "sum": "max"}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "//",
}  # fmt: skip


class Operator(StrEnum):
    """What a mutant changes."""

    NEGATE = "negate"
    DROP = "drop a part"
    COMPARE = "relax or tighten a comparison"
    SWAP = "swap a variable or constant"
    CONSTANT = "return a constant"
    SKIP = "skip an update"
    COMPUTE = "compute the expected answer otherwise"


@dataclass(frozen=True)
class Mutant:
    """One fault. Offsets count bytes of the UTF-8 text with newlines as `\\n`."""

    operator: Operator
    line: int
    """Line of the change, from 1."""
    start: int
    end: int
    replacement: str

    def text(self, source: str) -> str:
        """What the change is, for people, in one line."""
        before = _short(_bytes(source)[self.start : self.end].decode())
        return f"line {self.line}: {self.operator}: {before} -> {_short(self.replacement)}"

    def apply(self, source: str) -> str:
        """The mutant's whole text."""
        data = _bytes(source)
        return (data[: self.start] + self.replacement.encode() + data[self.end :]).decode()


def mutants_of(source: str, limit: int) -> tuple[Mutant, ...]:
    """At most `limit` mutants of a program that parses, always the same ones in the same order.

    The kinds take turns, each from the tests nearest to the win, so that a small limit still holds some of each kind.
    """
    tree = module_of(_bytes(source).decode())
    text = _Text(_bytes(source))
    text.leave_out(tree)
    predicate = find_predicate(tree)
    kinds = (_negated, _dropped, _compared, _swapped, _constant, _skipped, _computed)
    queues = [_of_kind(kind, predicate, text) for kind in kinds]
    chosen: dict[tuple[int, int, str], Mutant] = {}
    offered = itertools.chain.from_iterable(itertools.zip_longest(*queues))
    for mutant in itertools.islice(offered, MAX_OFFERED):
        if len(chosen) == limit:
            break
        if mutant is not None and len(mutant.replacement) <= MAX_REPLACEMENT_CHARACTERS and _parses(mutant):
            chosen.setdefault((mutant.start, mutant.end, mutant.replacement), mutant)
    return _compatible(source, tuple(chosen.values()))


def combined(source: str, mutants: Sequence[Mutant]) -> str:
    """One text that holds the program and its mutants: mutant i is in force while the global `SWITCH` is i + 1."""
    edits: dict[tuple[int, int], list[tuple[int, Mutant]]] = {}
    for number, mutant in enumerate(mutants, start=1):
        edits.setdefault((mutant.start, mutant.end), []).append((number, mutant))
    return _woven(_bytes(source), sorted(edits.items(), key=lambda item: (item[0][0], -item[0][1])))


def _woven(data: bytes, edits: list[tuple[tuple[int, int], list[tuple[int, Mutant]]]]) -> str:
    """Spans are pieces of one syntax tree: they contain each other or lie apart. Sorted, the outer one comes first."""
    pieces: list[str] = []
    # (end of the span, text before the span's own, text after it); the pieces of inner spans fall in between
    open_spans: list[tuple[int, str]] = []
    at = 0
    for (start, end), variants in edits:
        while open_spans and open_spans[-1][0] <= start:
            stop, closing = open_spans.pop()
            pieces += [data[at:stop].decode(), closing]
            at = stop
        pieces.append(data[at:start].decode())
        at = start
        head, closing = _choice(variants)
        pieces.append(head)
        open_spans.append((end, closing))
    while open_spans:
        stop, closing = open_spans.pop()
        pieces += [data[at:stop].decode(), closing]
        at = stop
    return "".join([*pieces, data[at:].decode()])


def _choice(variants: list[tuple[int, Mutant]]) -> tuple[str, str]:
    """What stands before and after the original piece."""
    if variants[0][1].operator is Operator.SKIP and variants[0][1].replacement == "pass":
        return f"if {SWITCH} != {variants[0][0]}: ", ""
    heads = "".join(f"({mutant.replacement}) if {SWITCH} == {number} else " for number, mutant in variants)
    return f"({heads}(", "))"


# ── the kinds ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _Text:
    """The program's bytes, and where a node's stand."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._lines = [0, *itertools.accumulate(len(line) + 1 for line in data.split(b"\n"))]
        self._unplaced: set[int] = set()

    def leave_out(self, tree: ast.Module) -> None:
        """Pieces of f-strings have no true position in Python 3.11."""
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                self._unplaced |= {id(part) for part in ast.walk(node)}

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int] | None:
        """First byte and the byte after the last."""
        if id(node) in self._unplaced or node.end_lineno is None or node.end_col_offset is None:
            return None
        return self._lines[node.lineno - 1] + node.col_offset, self._lines[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.expr) -> str | None:
        """The node's text."""
        span = self.span(node)
        return None if span is None else self._data[slice(*span)].decode()

    def stands_alone(self, node: ast.stmt) -> bool:
        """Whether a statement has its lines for itself, so that an `if` may be put before it."""
        span = self.span(node)
        if span is None:
            return False
        before = self._data[self._lines[node.lineno - 1] : span[0]]
        after = self._data[span[1] :].split(b"\n", 1)[0].strip()
        return not before.strip() and (not after or after.startswith(b"#"))


_Change = tuple[ast.expr | ast.stmt, str]
"""What is replaced, and by what."""
_Kind = Callable[[Predicate, _Text], Iterator[tuple[Operator, _Change]]]


def _of_kind(kind: _Kind, predicate: Predicate, text: _Text) -> Iterator[Mutant]:
    for operator, (node, replacement) in kind(predicate, text):
        span = text.span(node)
        if span is not None:
            yield Mutant(operator, node.lineno, *span, replacement)


def _negated(predicate: Predicate, text: _Text) -> Iterator[tuple[Operator, _Change]]:
    for test in predicate.tests:
        for node in (test, *(part for inner in _inside(test, ast.BoolOp) for part in inner.values)):
            original = text.of(node)
            if original is not None:
                yield Operator.NEGATE, (node, f"not ({original})")


def _dropped(predicate: Predicate, text: _Text) -> Iterator[tuple[Operator, _Change]]:
    for test in predicate.tests:
        for node in _inside(test, ast.BoolOp):
            if len(node.values) > MAX_PARTS:
                continue
            word = " and " if isinstance(node.op, ast.And) else " or "
            values = [text.of(value) for value in node.values]
            for left_out in range(len(values)):
                rest = [f"({value})" for index, value in enumerate(values) if index != left_out and value is not None]
                if len(rest) == len(values) - 1:
                    yield Operator.DROP, (node, word.join(rest))


def _compared(predicate: Predicate, text: _Text) -> Iterator[tuple[Operator, _Change]]:
    for test in predicate.tests:
        for node in _inside(test, ast.Compare):
            sides = [text.of(side) for side in (node.left, *node.comparators)]
            if None not in sides and len(sides) <= MAX_PARTS:
                for at in range(len(node.ops)):
                    for sign in _other_signs(node, at):
                        signs = [_SIGNS[type(op)] for op in node.ops]
                        signs[at] = sign
                        rest = "".join(f" {one} ({side})" for one, side in zip(signs, sides[1:], strict=True))
                        yield Operator.COMPARE, (node, f"({sides[0]}){rest}")
        for call in _inside(test, ast.Call):
            name = text.of(call.func)
            if name in _QUANTIFIERS:
                yield Operator.COMPARE, (call.func, _QUANTIFIERS[name])


def _other_signs(node: ast.Compare, at: int) -> tuple[str, ...]:
    kind = type(node.ops[at])
    if kind in _RELAXED:
        return (_RELAXED[kind],)
    if kind in _TIGHTENED:
        return (_TIGHTENED[kind],)
    if kind is ast.Eq and not any(_is_text(side) for side in (node.left, *node.comparators)):
        return ("<=", ">=")
    return ()


def _is_text(node: ast.expr) -> bool:
    """Whether an order of this value would say nothing or fail."""
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, int | float) or isinstance(node.value, bool)
    return isinstance(node, _TEXTS) or (
        isinstance(node, ast.Call) and call_name(node) in ("lower", "strip", "upper", "str")
    )


def _swapped(predicate: Predicate, text: _Text) -> Iterator[tuple[Operator, _Change]]:
    others = _others(predicate, text)
    for test in predicate.tests:
        for compare in _inside(test, ast.Compare):
            for node in _operands(compare):
                for replacement in _instead(node, others, text):
                    yield Operator.SWAP, (node, replacement)


def _operands(compare: ast.Compare) -> Iterator[ast.expr]:
    """What a comparison compares, through its arithmetic."""
    waiting = [compare.left, *compare.comparators]
    for node in waiting:  # it grows
        if isinstance(node, ast.BinOp):
            waiting += [node.left, node.right]
        else:
            yield node


def _instead(node: ast.expr, others: dict[str, str], text: _Text) -> Iterator[str]:
    """What could have been written by mistake in place of a variable or constant."""
    match node:
        case ast.Constant(value=bool()) | ast.Constant(value=None):
            return
        case ast.Constant(value=int() as value):
            yield from (str(value + 1), str(value - 1))
        case ast.Constant(value=str() as value):
            yield repr(value + "_")
        case ast.Name() | ast.Attribute() | ast.Subscript():
            other = others.get(text.of(node) or "")
            if other is not None:
                yield other


def _others(predicate: Predicate, text: _Text) -> dict[str, str]:
    """Variables that are compared, each with the next one of its owner: of the same object, or of the same test."""
    groups: dict[str, dict[str, None]] = {}
    for number, test in enumerate(predicate.tests):
        for compare in _inside(test, ast.Compare):
            for node in _operands(compare):
                original = text.of(node)
                owner = text.of(node.value) if isinstance(node, ast.Attribute | ast.Subscript) else f"test {number}"
                if original is not None and owner is not None and _is_variable(node):
                    groups.setdefault(owner, {})[original] = None
    following: dict[str, str] = {}
    for group in groups.values():
        order = list(group)
        for index, name in enumerate(order):
            if len(order) > 1:
                following.setdefault(name, order[(index + 1) % len(order)])
    return following


def _is_variable(node: ast.expr) -> bool:
    """A name, an attribute, or an entry by a constant key."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    return isinstance(node, ast.Name | ast.Attribute)


def _constant(predicate: Predicate, text: _Text) -> Iterator[tuple[Operator, _Change]]:
    for test in predicate.tests:
        yield Operator.CONSTANT, (test, "True")
        yield Operator.CONSTANT, (test, "False")


def _skipped(predicate: Predicate, text: _Text) -> Iterator[tuple[Operator, _Change]]:
    for statement in predicate.updates:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                kept = {id(target) for target in changed(statement)}
                for target, value in zip(targets, values, strict=False):
                    original = text.of(target)
                    if id(target) in kept and original is not None:
                        yield Operator.SKIP, (value, original)
            case ast.Assign(targets=[ast.Tuple(), *_]) | ast.Assign(targets=[_, _, *_]):
                continue
            case _ if text.stands_alone(statement):
                yield Operator.SKIP, (statement, "pass")


def _computed(predicate: Predicate, text: _Text) -> Iterator[tuple[Operator, _Change]]:
    for value in predicate.values[:1]:
        yield Operator.COMPUTE, (value, "'0'")
    for value in predicate.values:
        for node in ast.walk(value):
            match node:
                case ast.Call(func=ast.Name(id=name) as function) if name in _FOLDS:
                    yield Operator.COMPUTE, (function, _FOLDS[name])
                case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                    sides = text.of(left), text.of(right)
                    if None not in sides:
                        yield Operator.COMPUTE, (node, f"({sides[0]}) {_ARITHMETIC[type(op)]} ({sides[1]})")
                case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                    yield Operator.COMPUTE, (node, repr(number + 1))


def _inside(test: ast.expr, kind: type[NodeT]) -> Iterator[NodeT]:
    return (node for node in ast.walk(test) if isinstance(node, kind))


def _compatible(source: str, mutants: tuple[Mutant, ...]) -> tuple[Mutant, ...]:
    """All mutants if they stand in one text; otherwise those that can stand alone, if these can together."""
    if _is_program(combined(source, mutants)):
        return mutants
    alone = tuple(mutant for mutant in mutants if _is_program(combined(source, (mutant,))))
    return alone if _is_program(combined(source, alone)) else ()


def _parses(mutant: Mutant) -> bool:
    return _is_program(mutant.replacement if mutant.replacement == "pass" else f"({mutant.replacement})")


def _is_program(text: str) -> bool:
    try:
        module_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _bytes(source: str) -> bytes:
    return source.replace("\r\n", "\n").replace("\r", "\n").encode()


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= SHOWN_CHARACTERS else words[: SHOWN_CHARACTERS - 1] + "…"
