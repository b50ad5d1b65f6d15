"""Verdicts on program files as data: JSON objects and Parquet rows, for `spade verify` and `spade replay`."""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from spade_contracts.config.environments import Domain
from spade_contracts.config.sandbox import SandboxLimits
from spade_contracts.errors import InvalidInput
from spade_contracts.verdicts import Fact, Operation, Reason, Trace, Verdict

if TYPE_CHECKING:
    import pyarrow as pa

EVIDENCE: TypeAdapter[tuple[Trace, ...]] = TypeAdapter(tuple[Trace, ...])
FACTS: TypeAdapter[dict[str, Fact]] = TypeAdapter(dict[str, Fact])


@dataclass(frozen=True)
class Judged:
    """One program file and what the gate says of it."""

    path: str
    domain: Domain
    limits: SandboxLimits
    verdict: Verdict
    text: str | None = None
    """The file's text as read; None if it could not be."""
    source: str | None = None
    """The program as it was judged: the text with its braces repaired; None if none was run."""

    @property
    def judged(self) -> bool:
        """Whether the verdict is one on the program; False when only the infrastructure failed."""
        return self.verdict.reason is not Reason.INFRASTRUCTURE


def program_digest(text: str) -> str:
    """SHA-256 of a program's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def printable_path(path: str) -> str:
    """A path as valid Unicode; bytes of it that are not UTF-8 are written as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def json_record(judged: Judged) -> dict[str, Any]:
    """The JSON object of one verdict; `spade replay` reads it back."""
    verdict = judged.verdict
    return {
        "program": printable_path(judged.path),
        "sha256": None if judged.text is None else program_digest(judged.text),
        "domain": judged.domain.value,
        "accepted": verdict.accepted,
        "stage": verdict.stage.value,
        "reason": None if verdict.reason is None else verdict.reason.value,
        "message": verdict.message,
        "evidence": evidence_data(verdict.evidence),
        "facts": verdict.facts,
        "limits": judged.limits.model_dump(mode="json"),
    }


def evidence_data(evidence: Sequence[Trace]) -> list[dict[str, Any]]:
    """Traces as JSON data; fields with their default are left out, but for the empty action of a step."""
    data: list[dict[str, Any]] = EVIDENCE.dump_python(tuple(evidence), mode="json", exclude_defaults=True)
    for exchange in (exchange for trace in data for exchange in trace.get("exchanges", ())):
        if exchange["op"] == Operation.STEP:
            exchange.setdefault("action", "")
    return data


def columns() -> "pa.Schema":
    """The Parquet schema of verdicts on files; `evidence`, `facts` and `limits` are JSON texts."""
    import pyarrow as pa

    texts = ("sha256", "domain", "stage", "reason", "message", "evidence", "facts", "limits", "source")
    return pa.schema([("program", pa.string()), ("accepted", pa.bool_()), *((name, pa.string()) for name in texts)])


def parquet_row(judged: Judged) -> dict[str, Any]:
    """One verdict by column."""
    record = json_record(judged)
    texts = {name: json.dumps(record[name], sort_keys=True) for name in ("evidence", "facts", "limits")}
    return {**record, **texts, "source": judged.source}


def write_parquet(path: Path, verdicts: Iterable[Judged]) -> None:
    """Write all verdicts as one Parquet file, whole or not at all. Raises InvalidInput if it cannot be written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist([parquet_row(judged) for judged in verdicts], schema=columns())
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        pq.write_table(table, partial, compression="zstd")
        partial.replace(path)
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def read_evidence(where: str, text: str) -> tuple[Trace, ...]:
    """Traces from their JSON text. Raises InvalidInput."""
    try:
        return EVIDENCE.validate_json(text)
    except ValidationError as error:
        raise InvalidInput(where, f"holds no evidence that can be replayed: {_first(error)}") from error


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
