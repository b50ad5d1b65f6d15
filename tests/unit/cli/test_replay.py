"""`spade replay` finds a verdict's program and sessions in what `spade verify` and a run write."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spade_cli.comparison import Row, lines
from spade_cli.replay import chosen, read_verdict, records
from spade_contracts.config import SandboxLimits
from spade_contracts.config.environments import Domain
from spade_contracts.errors import InvalidInput
from spade_contracts.verdicts import Exchange, Operation, Reason, Stage, Trace, rejected
from spade_sandbox.local import Judged, json_record, write_parquet
from spade_sandbox.local.records import evidence_data, program_digest

SOURCE = (Path(__file__).parents[2] / "data" / "programs" / "good" / "number_search.py").read_text()
TRACE = Trace(max_turns=3, exchanges=(Exchange(op=Operation.RESET, seed=0, answer='{"text":"x"}'),))
LIMITS = SandboxLimits(load_seconds=3)


def judged(path: Path, source: str | None = SOURCE) -> Judged:
    verdict = rejected(Stage.CONTROLS, Reason.WINS_BY_NULL, "it wins", (TRACE,))
    return Judged(str(path), Domain.GAMES, LIMITS, verdict, SOURCE, source)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "game.py"
    path.write_text(SOURCE)
    return path


def written(tmp_path: Path, content: object) -> str:
    path = tmp_path / "verdicts.json"
    path.write_text(json.dumps(content))
    return str(path)


def test_verdict_in_json_is_replayed_with_its_limits_on_the_file_it_names(tmp_path: Path, program: Path) -> None:
    file = written(tmp_path, [json_record(judged(program))])
    evidence = read_verdict(file, chosen(file, records(file), None), None)
    assert (evidence.source, evidence.limits, evidence.traces) == (SOURCE, LIMITS, (TRACE,))


def test_single_object_is_as_good_as_a_list(tmp_path: Path, program: Path) -> None:
    file = written(tmp_path, json_record(judged(program)))
    assert len(records(file)) == 1


def test_verdict_in_parquet_brings_its_own_source(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.parquet"
    write_parquet(file, [judged(tmp_path / "gone.py")])
    evidence = read_verdict(str(file), chosen(str(file), records(str(file)), 0), None)
    assert (evidence.source, evidence.limits, evidence.traces) == (SOURCE, LIMITS, (TRACE,))


def test_verdict_of_a_cycle_finds_its_program_among_the_designs_beside_it(tmp_path: Path) -> None:
    digest = program_digest(SOURCE)
    verdict = {"program_sha256": digest, "stage": "controls", "evidence": json.dumps(evidence_data((TRACE,)))}
    design = {**verdict, "program": SOURCE}
    pq.write_table(pa.Table.from_pylist([verdict]), tmp_path / "verdicts-x.parquet")
    file = str(tmp_path / "verdicts-x.parquet")
    with pytest.raises(InvalidInput, match="is not beside it"):
        read_verdict(file, records(file)[0], None)
    pq.write_table(pa.Table.from_pylist([design]), tmp_path / "designs-s000-a00.parquet")
    assert read_verdict(file, records(file)[0], None).source == SOURCE
    (row,) = records(str(tmp_path / "designs-s000-a00.parquet"))  # and a record that brings its program needs no search
    assert read_verdict("elsewhere.parquet", row, None).source == SOURCE


def test_program_that_has_changed_since_is_refused_unless_it_is_named(tmp_path: Path, program: Path) -> None:
    record = json_record(judged(program))
    program.write_text(SOURCE + "\n")
    with pytest.raises(InvalidInput, match="is not the file that was judged"):
        read_verdict("verdicts.json", record, None)
    assert read_verdict("verdicts.json", record, str(program)).source == SOURCE + "\n"


def test_verdict_without_sessions_has_nothing_to_replay(program: Path) -> None:
    record = json_record(Judged(str(program), Domain.GAMES, LIMITS, rejected(Stage.PARSE, Reason.SYNTAX, "no"), SOURCE))
    with pytest.raises(InvalidInput, match="spade verify"):
        read_verdict("verdicts.json", record, None)


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"PAR1 and no more", b"[1, 2]", b"[" * 100_000])
def test_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InvalidInput):
        records(str(path))


@pytest.mark.parametrize("index", [None, 2, -1])
def test_one_record_of_several_must_be_named(index: int | None) -> None:
    with pytest.raises(InvalidInput, match="--index 0 to 1"):
        chosen("x", [{"a": 1}, {"b": 2}], index)
    assert chosen("x", [{"a": 1}, {"b": 2}], 1) == {"b": 2}


def test_differing_answer_is_shown_beside_the_recorded_one() -> None:
    shown = lines([
        Row("reset(seed=0)", True, "x", "x"),
        Row("step('\x1b[2J')", False, "reward 0", "reward 1", ("reward",)),
    ])  # fmt: skip
    assert shown[0] == "  same     reset(seed=0)"
    assert shown[1:] == (
        "  DIFFERS  step('\\x1b[2J') (reward)",
        "    recorded  reward 0",
        "    now       reward 1",
    )
