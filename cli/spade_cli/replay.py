"""`spade replay FILE`: the evidence of a verdict, or an episode of a run, done again in a cell and compared."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spade_cli.comparison import Row, lines
from spade_cli.episodes import is_episode, play_again, read_recorded
from spade_cli.verify import UNJUDGED, Say, visible
from spade_contracts.config import SandboxLimits
from spade_contracts.errors import InfrastructureFault, InvalidInput
from spade_contracts.verdicts import Exchange, Operation, Trace, Verdict
from spade_sandbox.client import SandboxPool
from spade_sandbox.local import Backend, Replayed, local_pool, replay
from spade_sandbox.local.files import read_program
from spade_sandbox.local.records import program_digest, read_evidence
from spade_sandbox.local.replaying import changed_fields
from spade_sandbox.verify.parse import check_source
from spade_trainer.store import manifests
from spade_trainer.store.layout import RUN
from spade_trainer.store.objects import open_store

SAME, DIFFERS = 0, 1
"""Exit codes, beside those of `spade verify` for usage and infrastructure."""
MAX_SOURCE_BYTES = 1048576
Sessions = list[tuple[str, tuple[Row, ...]]]
"""What each session is called, and its operations."""
Play = Callable[[SandboxPool], Awaitable[Sessions]]
NOTHING = "(not reached: the session was over)"


@dataclass(frozen=True)
class Evidence:
    """A verdict's sessions, and the program they are of."""

    name: str
    source: str
    limits: SandboxLimits
    traces: tuple[Trace, ...]


@dataclass(frozen=True)
class Wanted:
    """What the user asks for."""

    path: str
    index: int | None
    program: str | None
    backend: Backend | None


async def replay_record(wanted: Wanted, say: Say, warn: Say) -> int:
    """Replay one record of a file and tell; returns the exit code. Raises InvalidInput for a file of another kind."""
    row = chosen(wanted.path, records(wanted.path), wanted.index)
    play = _episode(wanted.path, row, warn) if is_episode(row) else _verdict(wanted, row)
    try:
        async with local_pool(wanted.backend, warn=lambda text: warn(f"warning: {text}")) as (pool, _):
            sessions = await play(pool)
    except InfrastructureFault as error:
        warn(f"error: {error}")
        return UNJUDGED
    return _tell(sessions, say)


def _episode(path: str, row: dict[str, Any], warn: Say) -> Play:
    recorded = read_recorded(path, row)
    if recorded.episode.seed is None:
        warn("warning: the episode was reset without a seed, so it need not repeat.")
    name = f"{recorded.episode.environment}, play {recorded.episode.play}{', hinted' * recorded.episode.hinted}"

    async def play(pool: SandboxPool) -> Sessions:
        return [(name, await play_again(recorded, pool))]

    return play


def _verdict(wanted: Wanted, row: dict[str, Any]) -> Play:
    evidence = read_verdict(wanted.path, row, wanted.program)

    async def play(pool: SandboxPool) -> Sessions:
        return await _traces(evidence, pool)

    return play


def _tell(sessions: Sessions, say: Say) -> int:
    """Print every operation and the sum; returns the exit code."""
    for name, rows in sessions:
        say(visible(name))
        for line in lines(rows):
            say(line)
    differing = sum(not row.same for _, rows in sessions for row in rows)
    count = sum(len(rows) for _, rows in sessions)
    say(f"{differing} of {count} answers differ." if differing else f"All {count} answers are the same.")
    return DIFFERS if differing else SAME


def records(path: str) -> list[dict[str, Any]]:
    """The records of a JSON or Parquet file. Raises InvalidInput."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(path, f"cannot be read: {error.strerror}") from error
    if content.startswith(b"PAR1"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # Without threads: Arrow's can abort a process that ends soon after reading (apache/arrow#34314).
            table = pq.read_table(pa.BufferReader(content), use_threads=False, pre_buffer=False)
            rows: list[dict[str, Any]] = table.to_pylist()
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(path, f"is a damaged Parquet file: {error}") from error
        return rows
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(path, "is neither JSON nor Parquet") from error
    listed = data if isinstance(data, list) else [data]
    if not all(isinstance(one, dict) for one in listed):
        raise InvalidInput(path, "holds no verdicts", remedy="Take what `spade verify --json` printed.")
    return listed


def chosen(path: str, found: list[dict[str, Any]], index: int | None) -> dict[str, Any]:
    """The record with this index, from 0; without one, the only record. Raises InvalidInput."""
    if index is None and len(found) == 1:
        return found[0]
    if index is None or not 0 <= index < len(found):
        said = "has several records" if index is None else f"has no record {index}"
        raise InvalidInput(path, said, remedy=f"Name one with --index 0 to {len(found) - 1}.")
    return found[index]


def read_verdict(path: str, row: dict[str, Any], program: str | None) -> Evidence:
    """The evidence in one record. Raises InvalidInput if it cannot be replayed.

    The program is the file named, else the record's own source, else the file that the record names, which must be
    unchanged; of a run's `verdicts-….parquet`, the program of the design beside it.
    """
    if "evidence" not in row:
        raise InvalidInput(path, "holds neither a verdict nor an episode")
    text = row["evidence"] if isinstance(row["evidence"], str) else json.dumps(row["evidence"])
    traces = read_evidence(path, text)
    if not traces:
        stage = row.get("stage", "?")
        remedy = "Judge the program again with `spade verify`."
        raise InvalidInput(
            path, f"this verdict (stage {stage}) rests on no session, so there is nothing to do again", remedy=remedy
        )
    name = program or row.get("name") or row.get("program_sha256") or row.get("program") or path
    return Evidence(str(name), source_of(path, row, program), _limits(path, row), traces)


def _limits(path: str, row: dict[str, Any]) -> SandboxLimits:
    """The limits under which the verdict was made: the record's own, else those of the run in whose storage it lies."""
    limits = row.get("limits")
    if not limits:
        root = run_root(path)
        return SandboxLimits() if root is None else manifests.read_run(open_store(root.as_uri())).method.limits
    try:
        return SandboxLimits.model_validate(json.loads(limits) if isinstance(limits, str) else limits)
    except (ValidationError, ValueError) as error:
        raise InvalidInput(f"{path}: limits", "cannot be read") from error


def run_root(path: str) -> Path | None:
    """The folder of the run in whose storage a file lies, or None if it lies in none."""
    return next((folder for folder in Path(path).resolve().parents if (folder / RUN).is_file()), None)


def source_of(path: str, row: dict[str, Any], program: str | None) -> str:
    """The program of a record as it was judged, or that of the file `program`. Raises InvalidInput."""
    if program is not None:
        return _judged_text(program, None)
    if row.get("source"):
        return str(row["source"])
    if "expected" in row:  # a canary
        return str(row["program"])
    if row.get("program_sha256"):  # written by a run or a verification in a cluster
        return str(row.get("program") or _designed(Path(path), str(row["program_sha256"])))
    if row.get("program"):
        return _judged_text(str(row["program"]), row.get("sha256"))
    raise InvalidInput(path, "names no program", remedy="Name it with --program.")


def _judged_text(path: str, digest: str | None) -> str:
    """A file's program as the gate judges it: with its braces repaired."""
    file = read_program(path, MAX_SOURCE_BYTES)
    if file.source is None:
        assert file.verdict is not None
        raise InvalidInput(path, file.verdict.message, remedy="Name the program's file with --program.")
    if digest is not None and digest != program_digest(file.source):
        raise InvalidInput(path, "is not the file that was judged", remedy="Name the old one, or this, with --program.")
    checked = check_source(file.source, MAX_SOURCE_BYTES)
    if isinstance(checked, Verdict):
        raise InvalidInput(path, f"is no program that can run: {checked.message}")
    return checked


def _designed(verdicts: Path, digest: str) -> str:
    """The program with this digest among the designs of the verdicts' cycle."""
    for part in sorted(verdicts.parent.glob("**/designs-*.parquet")):
        for row in records(str(part)):
            if row.get("program_sha256") == digest and row.get("program"):
                return str(row["program"])
    for file in sorted(verdicts.parent.glob("programs/*.py")):
        text = file.read_text("utf-8")
        if program_digest(text) == digest:
            return text
    raise InvalidInput(str(verdicts), f"the program {digest[:12]} is not beside it", remedy="Name it with --program.")


async def _traces(evidence: Evidence, pool: SandboxPool) -> Sessions:
    found: Sessions = []
    for number, trace in enumerate(evidence.traces, start=1):
        note = f": {trace.note}" if trace.note else ""
        name = f"{evidence.name}, session {number} of {len(evidence.traces)}{note}"
        replayed = await replay(trace, evidence.source, pool, evidence.limits)
        found.append((name, tuple(_row(one) for one in replayed)))
    return found


def _row(replayed: Replayed) -> Row:
    return Row(
        operation(replayed.exchange),
        replayed.same,
        replayed.exchange.answer,
        replayed.now or NOTHING,
        changed_fields(replayed),
    )


def operation(exchange: Exchange) -> str:
    """An operation as people write it."""
    match exchange.op:
        case Operation.RESET:
            return f"reset(seed={exchange.seed})"
        case Operation.STEP:
            return f"step({exchange.action!r})"
        case Operation.CALL:
            return f"call({exchange.name!r}, {exchange.arguments})"
        case _:
            return f"{exchange.op.value}()"
