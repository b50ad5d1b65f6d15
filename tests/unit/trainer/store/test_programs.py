"""Programs are found wherever they lie, and whatever they say is left to the gate."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spade_contracts.errors import InvalidInput
from spade_trainer.store.programs import MAX_BYTES, ProgramFile, read_programs


def read(path: Path) -> tuple[ProgramFile, ...]:
    return read_programs(path.as_uri())


def test_folder_gives_its_python_files_at_any_depth_by_name(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name, content in (("b/one.py", b"1"), ("a.py", b"\xff\xfe"), ("empty.py", b""), ("notes.txt", b"no")):
        (tmp_path / name).write_bytes(content)
    assert [(p.name, p.content) for p in read(tmp_path)] == [
        ("a.py", b"\xff\xfe"),
        ("b/one.py", b"1"),
        ("empty.py", b""),
    ]


def test_one_file_is_one_program_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "maze.txt").write_text("class Maze: ...")
    assert [p.name for p in read(tmp_path / "maze.txt")] == ["maze.txt"]


def test_rows_of_jsonl_are_programs_by_their_names_or_numbers(tmp_path: Path) -> None:
    rows = [{"id": "x", "program": "A"}, {"source": "B"}, {"name": 7, "code": "\ud800"}, {"program": None}]
    path = tmp_path / "pool.jsonl"
    path.write_text("\n\n".join(json.dumps(row) for row in rows))
    found = {p.name: p.content for p in read(path)}
    assert found["pool.jsonl#x"] == b"A"
    assert found["pool.jsonl#000001"] == b"B"
    assert found["pool.jsonl#7"] == b"\xed\xa0\x80", "no text; the gate says so"
    assert found["pool.jsonl#000003"] == b""


def test_rows_of_parquet_are_programs_too(tmp_path: Path) -> None:
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({"name": ["x", "y"], "program": ["A", "B"], "other": [1, 2]}), path)
    assert [(p.name, p.content) for p in read(path)] == [("pool.parquet#x", b"A"), ("pool.parquet#y", b"B")]


def test_of_an_endless_file_enough_is_read_to_reject_it(tmp_path: Path) -> None:
    with (tmp_path / "long.py").open("wb") as file:
        file.truncate(10 * 2**20)
    assert len(read(tmp_path)[0].content) == MAX_BYTES


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone", None, "cannot be read"),
        ("pool.jsonl", b"", "holds no program"),
        ("pool.jsonl", b"{", "line 1: is no JSON"),
        ("pool.jsonl", b"[1]", "is no JSON object"),
        ("pool.jsonl", b'{"text": "A"}', "none of the columns program, source, code"),
        ("pool.jsonl", b'{"id": "x", "program": ""}\n{"id": "x", "program": ""}', "two programs named pool.jsonl#x"),
        ("pool.parquet", b"PAR1", "is no Parquet file"),
    ],
)
def test_what_is_no_set_of_programs_is_refused_in_words(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path / name)


def test_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"Put \*\.py files there"):
        read(tmp_path)
