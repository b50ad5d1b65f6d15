"""A corpus in S3 is read like one in a folder, here and there, and what is refused is told."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.s3 import S3Service, s3_service

from spade_contracts.errors import InvalidInput
from spade_trainer.design.corpus_files import CorpusNotFound, row_at, rows
from spade_trainer.store.s3 import open_s3

ENTRIES = [{"text": f"document {number} " + "word " * 50} for number in range(300)]


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Service]:
    """A service for the tests of this module."""
    with s3_service(tmp_path_factory.mktemp("staging")) as service:
        yield service


def stored(s3: S3Service, tmp_path: Path, name: str) -> str:
    """The entries in a file of that name in a bucket; its URI."""
    file = tmp_path / name
    lines = "".join(f"{json.dumps(entry)}\n" for entry in ENTRIES).encode()
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(ENTRIES), file, row_group_size=50)
    else:
        file.write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
    path = f"{s3.bucket()}/corpora/{name}"
    open_s3().upload(file, path)
    return f"s3://{path}"


@pytest.mark.parametrize("name", ["documents.jsonl", "documents.jsonl.gz", "documents.parquet"])
def test_every_row_comes_in_order_and_each_again_by_its_place(s3: S3Service, tmp_path: Path, name: str) -> None:
    uri = stored(s3, tmp_path, name)
    found = list(rows(uri))
    assert [entry for _, entry in found] == ENTRIES
    for number in (0, 149, 299):
        assert row_at(uri, found[number][0]) == ENTRIES[number]


def test_a_missing_file_and_a_missing_bucket_are_told(s3: S3Service) -> None:
    with pytest.raises(CorpusNotFound, match="does not exist"):
        list(rows(f"s3://{s3.bucket()}/nothing.jsonl"))
    with pytest.raises(InvalidInput, match="bucket"):
        list(rows("s3://no-such-bucket-here/nothing.jsonl"))
