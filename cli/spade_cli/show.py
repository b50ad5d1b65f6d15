"""`spade show FILE`: the records of a run's result files as text, and the program of one of them as a file.

Programs, answers and observations come from a model or out of a sandbox, so nothing that moves a terminal is printed.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import ValidationError

from spade_cli.episodes import environment_of
from spade_cli.replay import chosen, operation, records, run_root, source_of
from spade_cli.verify import Say, visible
from spade_contracts.errors import InvalidInput
from spade_contracts.manifests import EnvironmentReturns, RolloutManifest
from spade_contracts.verdicts import Stage
from spade_sandbox.local.records import program_digest, read_evidence
from spade_trainer.store import episodes, layout
from spade_trainer.store.columnar import ARRAYS

SHOWN_CHARACTERS = 60
"""Of a message or a path in the list of records."""
TEXTS = frozenset({"program", "source", "hint", "answer", "evidence", "facts", "actions", "observations", "rewards"})
"""Columns that are shown below the others, as text of their own."""
NO_PROGRAM = program_digest("")
INDENT = "  "
Row = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What the user asks for."""

    path: str
    index: int | None
    out: Path | None


@dataclass(frozen=True)
class Kind:
    """One kind of records."""

    word: str
    needs: frozenset[str]
    """The fields by which a record is known for one."""
    columns: tuple[tuple[str, Callable[[Row], str]], ...]
    """What its list shows: titles, and a record's cells."""


def show(wanted: Wanted, say: Say) -> None:
    """List the records of a file, show one, or write its program to a file. Raises InvalidInput."""
    rows = read_rows(wanted.path)
    if wanted.out is not None:
        row = chosen(wanted.path, rows, wanted.index)
        size = _write(wanted.out, program_of(wanted.path, row))
        say(f"{visible(str(wanted.out))}: the program of this record, {size} bytes.")
    elif wanted.index is None:
        for line in listed(wanted.path, rows):
            say(line)
    else:
        for line in shown(wanted.path, chosen(wanted.path, rows, wanted.index)):
            say(line)


def read_rows(path: str) -> list[Row]:
    """The records of a file; those of a `rollout.json` are its environments. Raises InvalidInput."""
    found = records(path)
    if len(found) != 1 or not {"rollout", "outcomes", "environments"} <= found[0].keys():
        return found
    try:
        manifest = RolloutManifest.model_validate(found[0])
    except ValidationError as error:
        raise InvalidInput(path, f"is no manifest of a rollout: {error}") from error
    return [one.model_dump(mode="json") for one in manifest.environments]


def kind_of(path: str, row: Row) -> Kind:
    """What a record is, by its fields. Raises InvalidInput."""
    for kind in (EPISODE, ENVIRONMENT, CANARY, DESIGN, VERDICT):
        if kind.needs <= row.keys():
            return kind
    remedy = "Name designs-, canaries-, verdicts- or episodes-….parquet, a rollout.json, or what `spade verify` wrote."
    raise InvalidInput(path, "holds records that this command does not know", remedy=remedy)


def listed(path: str, rows: list[Row]) -> Iterator[str]:
    """One line a record, below the names of the columns."""
    if not rows:
        yield f"{visible(path)}: no records."
        return
    kind = kind_of(path, rows[0])
    if any(kind_of(path, row) is not kind for row in rows):
        raise InvalidInput(path, "holds records of several kinds", remedy="Name one with --index.")
    table = [("index", *(title for title, _ in kind.columns))]
    table += [(str(index), *(visible(cell(row)) for _, cell in kind.columns)) for index, row in enumerate(rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def shown(path: str, row: Row) -> Iterator[str]:
    """All of a record but its tokens: what is short first, then its texts."""
    kind = kind_of(path, row)
    yield f"{kind.word} of {visible(path)}"
    fields = {name: value for name, value in row.items() if name not in TEXTS and name not in ARRAYS} | _facts(
        path, row
    )
    if kind is VERDICT and "name" not in row:
        fields["program"] = row["program"]  # its path
    told = {name: value for name, value in fields.items() if value not in (None, "", [], {})}
    width = max(map(len, told), default=0)
    for name, value in told.items():
        yield f"{visible(name):<{width}}  {visible(value if isinstance(value, str) else json.dumps(value))}"
    if kind is EPISODE:
        yield from _played(row)
        return
    answer, program = _answer(path, row), _program(path, row)
    for title, text in (("hint", row.get("hint")), ("answer", answer), ("program", program)):
        if text and not (text is program and program.strip() in answer):
            yield f"{title}:"
            yield from _block(text)
    if row.get("evidence"):
        yield from _sessions(path, row["evidence"])


def program_of(path: str, row: Row) -> str:
    """The program that a record is about, as it was judged or played. Raises InvalidInput."""
    kind = kind_of(path, row)
    if kind in (EPISODE, ENVIRONMENT):
        return environment_of(path, row["environment" if kind is EPISODE else "id"]).source
    if row.get("program") == "" or row.get("program_sha256") == NO_PROGRAM:
        raise InvalidInput(path, "the record has no program: none was found in the answer, or none could be run")
    return source_of(path, row, None)


def _program(path: str, row: Row) -> str:
    """The program, or why it cannot be shown."""
    try:
        return program_of(path, row)
    except InvalidInput as error:
        return f"({error})"


def _answer(path: str, row: Row) -> str:
    """What the designer wrote; the policy's tokens as the tokenizer of the run around them spells them."""
    root = run_root(path)
    if row.get("answer") or not row.get("token_ids") or root is None:
        return str(row.get("answer") or "")
    tokenizer = root / layout.policy_folder(0) / "tokenizer.json"
    if not tokenizer.is_file():
        return ""
    from tokenizers import Tokenizer

    drawn = row["token_ids"][row["prompt_tokens"] :]
    return str(Tokenizer.from_file(str(tokenizer)).decode(drawn, skip_special_tokens=False))


def _facts(path: str, row: Row) -> Row:
    """The facts of a verdict, each as a field."""
    facts = row.get("facts") or {}
    try:
        loaded = json.loads(facts) if isinstance(facts, str) else facts
    except ValueError as error:
        raise InvalidInput(f"{path}: facts", "cannot be read as JSON") from error
    return {f"facts.{name}": value for name, value in loaded.items()}


def _played(row: Row) -> Iterator[str]:
    """An episode as it went: the opening, then each action with its reward and answer."""
    opening, *answers = row["observations"] or ["(the reset failed)"]
    yield "opening:"
    yield from _block(opening)
    for number, action in enumerate(row["actions"]):
        yield f"turn {number + 1}, action:"
        yield from _block(action)
        answered = number < len(answers)
        yield f"turn {number + 1}, reward {row['rewards'][number]:g}:" if answered else f"turn {number + 1}:"
        yield from _block(answers[number] if answered else row["fault"] or "(no answer)")


def _sessions(path: str, evidence: Any) -> Iterator[str]:
    """The sessions that led to a verdict, as `spade replay` does them again."""
    traces = read_evidence(path, evidence if isinstance(evidence, str) else json.dumps(evidence))
    for number, trace in enumerate(traces, start=1):
        yield f"session {number} of {len(traces)}{f': {visible(trace.note)}' if trace.note else ''}"
        for exchange in trace.exchanges:
            yield f"{INDENT}{visible(operation(exchange))}"
            yield f"{INDENT}{INDENT}{visible(exchange.answer)}"


def _block(text: str) -> Iterator[str]:
    """A text of several lines, indented."""
    return (f"{INDENT}{visible(line)}".rstrip() for line in text.split("\n"))


def _write(out: Path, text: str) -> int:
    content = text.encode()
    try:
        out.write_bytes(content)
    except OSError as error:
        raise InvalidInput("--out", f"{out} cannot be written: {error.strerror}") from error
    return len(content)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def _verdict(row: Row) -> str:
    return str(row["stage"]) if row["stage"] == Stage.ACCEPTED else f"{row['stage']}/{row['reason'] or '?'}"


def _mean(values: list[float]) -> str:
    return f"{fmean(values):.3g}" if values else "-"


MESSAGE = ("message", lambda row: _cut(row["message"]))
VERDICT_COLUMN = ("verdict", _verdict)
JUDGED = frozenset({"stage", "reason", "message"})
EPISODE = Kind(
    "episode",
    frozenset(episodes.columns().names) - {"turn_tokens", "turn_prompt_tokens"},
    (
        ("environment", lambda row: _cut(row["environment"])),
        ("slot", lambda row: str(row["slot"])),
        ("play", lambda row: str(row["play"])),
        ("hinted", lambda row: "yes" if row["hinted"] else "no"),
        ("outcome", lambda row: str(row["outcome"])),
        ("reward", lambda row: "masked" if row["return"] is None else f"{row['return']:g}"),
        ("turns", lambda row: str(row["turns"])),
        ("found", lambda row: ", ".join([*row["verifier_failures"], *filter(None, [row["fault"]])]) or "-"),
    ),
)
ENVIRONMENT = Kind(
    "environment",
    frozenset(EnvironmentReturns.model_fields),
    (
        ("environment", lambda row: _cut(row["id"])),
        ("slot", lambda row: str(layout.slot_of(row["id"]))),
        ("plays", lambda row: str(len(row["unhinted"]))),
        ("mean reward", lambda row: _mean(row["unhinted"])),
        ("hinted", lambda row: _mean(row["hinted"])),
        ("faults", lambda row: str(row["environment_faults"])),
        ("suspect", lambda row: ", ".join(row["suspect"]) or "-"),
        ("retired", lambda row: "yes" if row["retired"] else "no"),
    ),
)
CANARY = Kind(
    "canary",
    JUDGED | {"name", "expected", "false_accept", "false_reject"},
    (
        ("name", lambda row: _cut(row["name"])),
        ("expected", lambda row: str(row["expected"])),
        VERDICT_COLUMN,
        ("error", lambda row: "FALSE ACCEPT" * row["false_accept"] or "false reject" * row["false_reject"] or "-"),
        MESSAGE,
    ),
)
DESIGN = Kind(
    "design",
    JUDGED | {"slot", "attempt", "skill"},
    (
        ("slot", lambda row: str(row["slot"])),
        ("attempt", lambda row: str(row["attempt"])),
        ("skill", lambda row: _cut(row["skill"])),
        VERDICT_COLUMN,
        MESSAGE,
    ),
)
VERDICT = Kind(
    "verdict",
    JUDGED | {"program"},
    (("program", lambda row: _cut(row.get("name") or row["program"])), VERDICT_COLUMN, MESSAGE),
)
