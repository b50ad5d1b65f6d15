"""Verdicts on files as JSON and Parquet hold all that a replay needs."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spade_contracts.config import SandboxLimits
from spade_contracts.config.environments import Domain
from spade_contracts.errors import InvalidInput
from spade_contracts.verdicts import Exchange, Operation, Reason, Stage, Trace, Verdict, accepted, rejected
from spade_sandbox.local.records import (
    Judged,
    json_record,
    parquet_row,
    printable_path,
    program_digest,
    read_evidence,
    write_parquet,
)

TRACE = Trace(
    domain=Domain.TOOLS,
    max_turns=7,
    other_hash_seed=True,
    note="null",
    exchanges=(
        Exchange(op=Operation.RESET, seed=3, answer='{"text":"x"}'),
        Exchange(op=Operation.CALL, name="look", arguments='{"a":1}', answer="fault crash: y"),
    ),
)
LIMITS = SandboxLimits(step_seconds=1.5)


def judged(verdict: Verdict, path: str = "a.py", text: str | None = "x = 1\n") -> Judged:
    return Judged(path, Domain.TOOLS, LIMITS, verdict, text, text)


REJECTED = judged(rejected(Stage.CONTROLS, Reason.WINS_BY_NULL, "the null action wins", (TRACE,), {"steps": 4.0}))


def test_json_names_program_verdict_and_evidence() -> None:
    record = json.loads(json.dumps(json_record(REJECTED)))
    assert {"program", "accepted", "stage", "reason", "evidence"} <= record.keys()
    assert (record["program"], record["accepted"]) == ("a.py", False)
    assert (record["stage"], record["reason"]) == ("controls", "wins_by_null")
    assert record["sha256"] == program_digest("x = 1\n")
    assert read_evidence("x", json.dumps(record["evidence"])) == (TRACE,)
    assert SandboxLimits.model_validate(record["limits"]) == LIMITS


def test_accepted_program_has_no_reason() -> None:
    record = json_record(judged(accepted()))
    assert (record["accepted"], record["stage"], record["reason"]) == (True, "accepted", None)


def test_parquet_holds_one_row_a_program_with_its_source(tmp_path: Path) -> None:
    unread = judged(rejected(Stage.PARSE, Reason.UNREADABLE), "gone.py", None)
    write_parquet(tmp_path / "verdicts.parquet", [REJECTED, unread])
    rows = pq.read_table(tmp_path / "verdicts.parquet").to_pylist()
    assert rows == [parquet_row(REJECTED), parquet_row(unread)]
    assert read_evidence("x", rows[0]["evidence"]) == (TRACE,)
    assert [row["source"] for row in rows] == ["x = 1\n", None]
    assert [path.name for path in tmp_path.iterdir()] == ["verdicts.parquet"]


def test_parquet_that_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_parquet(tmp_path / "missing" / "verdicts.parquet", [REJECTED])


def test_path_that_is_not_utf8_is_written_as_escapes() -> None:
    path = b"games/\xff.py".decode("utf-8", "surrogateescape")
    assert printable_path(path) == "games/\\xff.py"
    assert printable_path("spiel/ü.py") == "spiel/ü.py"


def test_evidence_of_another_form_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no evidence that can be replayed"):
        read_evidence("verdicts.json", '["reset(seed=0) -> x"]')
