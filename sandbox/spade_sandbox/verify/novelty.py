"""Stage `novelty`: is this program new? And how diverse is a batch? (design §10, method.md §11)

Two measures, both on the text alone. A digest of the syntax tree in which the program's own names and its texts are
numbered by their first appearance finds exact copies, renamed and retold ones included. Shingles of tokens, in which
own names and texts are all alike, find near copies: their Jaccard similarity is estimated by MinHash against everything
known, and computed where it might count.
"""

import ast
import builtins
import hashlib
import io
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spade_contracts.config.verification import KnownPrograms
from spade_contracts.verdicts import Reason, Stage, Verdict
from spade_sandbox.verify.trees import module_of
from spade_sandbox.verify.trial import Program

STAGE = Stage.NOVELTY
SHINGLE_TOKENS = 7
HASHES = 128
"""MinHash values of a program; the estimate's standard error is at most 0.045."""
MARGIN = 0.2
"""How far below the threshold an estimate may lie for its true similarity still to be computed."""
_KEPT = frozenset(dir(builtins)) | {"self", "reset", "step", "solution", "close", "seed", "action", "max_turns"}
_SKIPPED = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER, tokenize.NEWLINE, tokenize.INDENT}
)
_PRIME = np.uint64((1 << 31) - 1)


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """What is compared of a program."""

    digest: str
    """SHA-256 of the numbered syntax tree."""
    shingles: NDArray[np.uint32]
    """Hashes of its token shingles, sorted, each once."""

    @cached_property
    def signature(self) -> NDArray[np.uint64]:
        """MinHash of the shingles."""
        factors, offsets = _permutations()
        values = (self.shingles.astype(np.uint64)[:, None] * factors + offsets) % _PRIME
        smallest: NDArray[np.uint64] = values.min(axis=0, initial=int(_PRIME))
        return smallest

    def similarity(self, other: "Fingerprint") -> float:
        """Jaccard similarity of the shingles, in [0, 1]."""
        shared = np.intersect1d(self.shingles, other.shingles, assume_unique=True).size
        union = self.shingles.size + other.shingles.size - shared
        return shared / union if union else 1.0


@dataclass(frozen=True)
class Match:
    """The known program that a program is most like."""

    name: str
    similarity: float
    exact: bool
    """Whether the two are the same up to names, texts and layout."""


class Known(Protocol):
    """Programs to compare with."""

    def nearest(self, source: str, *, near: float) -> Match | None:
        """The most similar program, the earliest of equals; None if nothing comes close to `near`."""


class Library:
    """Known programs in an order: the run's history and memory first, then the batch."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._known: list[Fingerprint] = []
        self._digests: dict[str, int] = {}
        self._positions: dict[str, int] = {}
        self._signatures: NDArray[np.uint64] = np.empty((0, HASHES), dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, name: str, source: str) -> int:
        """Keep a program; returns its position. A text that does not parse is compared by its tokens alone."""
        known = fingerprint(source)
        position = len(self._known)
        self._names.append(name)
        self._known.append(known)
        self._digests.setdefault(known.digest, position)
        self._positions.setdefault(name, position)
        if position == len(self._signatures):
            grown = np.empty((max(16, 2 * position), HASHES), dtype=np.uint64)
            grown[:position] = self._signatures
            self._signatures = grown
        self._signatures[position] = known.signature
        return position

    def before(self, name: str) -> Known:
        """What stands before a program, whatever is added later. Raises KeyError for a name that was never added."""
        return _Earlier(self, self._positions[name])

    def nearest(self, source: str, *, near: float) -> Match | None:
        """The most similar of all; None if nothing is as similar as `near` less the margin of the estimate."""
        return self.nearest_of_first(len(self), source, near)

    def nearest_of_first(self, size: int, source: str, near: float) -> Match | None:
        """The same among the first `size` programs."""
        asked = fingerprint(source)
        same = self._digests.get(asked.digest, size)
        if same < size:
            return Match(self._names[same], 1.0, exact=True)
        estimates = (self._signatures[:size] == asked.signature).mean(axis=1)
        best: Match | None = None
        for position in np.flatnonzero(estimates >= near - MARGIN):
            similarity = asked.similarity(self._known[position])
            if best is None or similarity > best.similarity:
                best = Match(self._names[position], similarity, exact=False)
        return best


@dataclass(frozen=True)
class _Earlier:
    library: Library
    size: int

    def nearest(self, source: str, *, near: float) -> Match | None:
        return self.library.nearest_of_first(self.size, source, near)


async def check_novelty(program: Program, known: Known | None) -> Verdict | None:
    """None if the program is new among those known, or there are none to compare with."""
    if known is None:
        program.facts["novelty"] = "nothing to compare with"
        return None
    settings = program.settings.novelty
    match = known.nearest(program.source, near=settings.near)
    program.facts["nearest_similarity"] = round(match.similarity, 4) if match is not None else 0.0
    if match is None:
        return None
    program.facts["nearest"] = match.name
    if match.exact:
        message = f"up to names, texts and layout it is {match.name}"
        return program.rejection(STAGE, Reason.DUPLICATE, message)
    if match.similarity >= settings.near and settings.reject is KnownPrograms.NEAR:
        message = f"{match.similarity:.0%} of its token shingles are those of {match.name}"
        return program.rejection(STAGE, Reason.NEAR_DUPLICATE, message)
    return None


def diversity(sources: Sequence[str]) -> float | None:
    """Vendi score by number of programs, in [1/n, 1]: 1 if no two share a shingle. None without programs.

    The kernel is the Jaccard similarity of token shingles, so figures of other kernels are not comparable.
    """
    prints = [fingerprint(source) for source in sources]
    if not prints:
        return None
    kernel = np.eye(len(prints))
    for row, one in enumerate(prints):
        for column in range(row):
            kernel[row, column] = kernel[column, row] = one.similarity(prints[column])
    return vendi(kernel) / len(prints)


def vendi(kernel: NDArray[np.float64]) -> float:
    """The Vendi score: exp of the entropy of the eigenvalues of K/n (Friedman and Dieng 2022), in [1, n].

    kernel: similarities, shape (n, n), symmetric, ones on the diagonal.
    """
    values = np.linalg.eigvalsh(kernel / len(kernel))
    values = values[values > 1e-12]
    return float(np.exp(-np.sum(values * np.log(values))))


def fingerprint(source: str) -> Fingerprint:
    """What is compared of a program. A text that does not parse counts by its tokens."""
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree = module_of(text)
        own = frozenset(_own_names(tree)) - _KEPT
        numbered = _Numbered(own).visit(_without_remarks(tree))
        digest = hashlib.sha256(ast.dump(numbered).encode("utf-8", "backslashreplace")).hexdigest()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        own = frozenset()
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return Fingerprint(digest, _shingles(_tokens(text, own)))


def _tokens(text: str, own: frozenset[str]) -> list[str]:
    """Tokens without comments and layout; texts are all alike, and so are the program's own names."""
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in _SKIPPED:
                word = "''" if token.type == tokenize.STRING else token.string
                found.append("own" if word in own else word)
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # what was read so far is compared
    return found


def _shingles(tokens: Sequence[str]) -> NDArray[np.uint32]:
    width = min(SHINGLE_TOKENS, len(tokens)) or 1
    texts = {"\0".join(tokens[at : at + width]) for at in range(len(tokens) - width + 1)} if tokens else set[str]()
    return np.unique(np.array([_hashed(text) for text in texts], dtype=np.uint32))


def _hashed(text: str) -> int:
    """31 bits, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).digest()) >> 1


def _permutations() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The same pseudo-random permutations x → (a·x + b) mod p for everybody."""
    draw = np.random.default_rng(13)
    high = int(_PRIME)
    return draw.integers(1, high, HASHES, dtype=np.uint64), draw.integers(0, high, HASHES, dtype=np.uint64)


def _without_remarks(tree: ast.Module) -> ast.Module:
    """Docstrings, and other texts that stand alone, do nothing."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [statement for statement in body if not _is_remark(statement)] or [ast.Pass()]
    return tree


def _is_remark(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


class _Numbered(ast.NodeTransformer):
    """Names that the program gives itself, and texts, become numbers in the order of their first appearance."""

    def __init__(self, own: frozenset[str]) -> None:
        self._numbers: dict[tuple[str, str], str] = {}
        self._own = own

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "attr", "name", "arg"):
            value = getattr(node, field, None)
            if isinstance(value, str) and value in self._own:
                setattr(node, field, self._number("name", value))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = self._number("text", node.value)
        return super().generic_visit(node)

    def _number(self, kind: str, value: str) -> str:
        return self._numbers.setdefault((kind, value), f"{kind} {len(self._numbers)}")


def _own_names(tree: ast.Module) -> Iterable[str]:
    """Names and attributes that the program binds."""
    for node in ast.walk(tree):
        found: Any = None
        match node:
            case ast.Name(ctx=ast.Store(), id=name) | ast.Attribute(ctx=ast.Store(), attr=name):
                found = name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found = name
            case ast.arg(arg=name):
                found = name
        if isinstance(found, str) and not (found.startswith("__") and found.endswith("__")):
            yield found
