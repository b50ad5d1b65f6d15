"""A pool in S3 is the same pool as in a folder: the same programs, the same digest, the same refusals."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.s3 import S3Service, s3_service

from spade_contracts.config.environments import PoolConfig
from spade_contracts.errors import InvalidInput
from spade_trainer.design.pool import PoolChanged, PoolNotFound, read_pool
from spade_trainer.store.files import StorageUnreachable
from spade_trainer.store.programs import AT_ONCE, MAX_BYTES, read_programs, read_with_digest
from spade_trainer.store.s3 import open_s3

PUBLISHED = '"""Game 3 of rollout 12: Optimization."""\nimport math\n\n\nclass ToyEnv(Env):\n    pass\n'


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Service]:
    """A service for the tests of this module."""
    with s3_service(tmp_path_factory.mktemp("staging")) as service:
        yield service


def stored(s3: S3Service, path: Path, name: str = "pools/fixed") -> str:
    """A file or folder in a bucket of its own; its URI."""
    bucket = s3.bucket()
    files = open_s3()
    for file in [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file()):
        below = f"/{file.relative_to(path).as_posix()}" if path.is_dir() else ""
        files.upload(file, f"{bucket}/{name}{below}")
    return f"s3://{bucket}/{name}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pool = tmp_path / "pool"
    (pool / "step_3").mkdir(parents=True)
    (pool / "game_00012_003_optimization.py").write_text(PUBLISHED)
    (pool / "step_3" / "game_00003_000_spatial_reasoning.py").write_text("class TwoEnv: ...\n")
    (pool / "empty.py").write_bytes(b"")
    (pool / "README.md").write_text("Programs.")
    return pool


def test_a_folder_has_the_programs_and_the_digest_that_it_has_on_a_disk(s3: S3Service, folder: Path) -> None:
    uri = stored(s3, folder)
    programs, digest = read_with_digest(folder.as_uri())
    assert read_with_digest(uri) == (programs, digest)
    assert read_pool(PoolConfig(uri=f"{uri}/", sha256=digest)) == programs
    assert {one.name: one.content for one in programs}["game_00012_003_optimization.py"] == PUBLISHED.encode()
    whole = read_programs(uri.removesuffix("/pools/fixed"))
    assert [one.name for one in whole] == [f"pools/fixed/{one.name}" for one in programs]


@pytest.mark.parametrize("name", ["pool.jsonl", "pool.parquet", "one.py"])
def test_a_file_has_its_own_digest_and_leaves_no_copy(
    s3: S3Service, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, copies = tmp_path / name, tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(copies))
    rows = [{"name": f"game_{number}", "program": f"class Env{number}: ...\n"} for number in range(3)]
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), file)
    else:
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert read_with_digest(stored(s3, file, f"pools/{name}")) == read_with_digest(file.as_uri())
    assert os.listdir(copies) == []


def test_another_pool_is_refused_and_the_message_has_its_digest(s3: S3Service, folder: Path) -> None:
    uri = stored(s3, folder)
    digest = read_with_digest(uri)[1]
    open_s3().replace(f"{uri.removeprefix('s3://')}/added.py", b"class MoreEnv: ...\n")
    found = read_with_digest(uri)[1]
    with pytest.raises(PoolChanged, match=found):
        read_pool(PoolConfig(uri=uri, sha256=digest))


def test_what_is_not_there_is_refused(s3: S3Service, folder: Path) -> None:
    uri = stored(s3, folder)
    for wrong in (f"{uri}/none", f"{uri}/README", "s3://no-such-bucket-here/pool", "s3://"):
        with pytest.raises(PoolNotFound) as caught:
            read_pool(PoolConfig(uri=wrong, sha256="0" * 64))
        assert isinstance(caught.value, InvalidInput)
        assert caught.value.where == "environments.designer.pool.uri"


def test_a_service_that_fails_is_no_missing_pool(s3: S3Service, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = stored(s3, folder)
    s3.faults.waiting.append(("GET", "SlowDown", 503))
    assert len(read_programs(uri)) == 3
    assert s3.faults.waiting == []
    monkeypatch.setattr("spade_trainer.store.s3.PAUSES_SECONDS", (1000.0,))
    s3.faults.waiting.append(("GET", "SlowDown", 503))
    with pytest.raises(StorageUnreachable):
        read_pool(PoolConfig(uri=uri, sha256="0" * 64))


def test_of_many_programs_all_come_and_of_a_long_one_its_beginning(s3: S3Service, tmp_path: Path) -> None:
    pool = tmp_path / "many"
    pool.mkdir()
    for number in range(AT_ONCE + 3):
        (pool / f"game_{number:05d}.py").write_text(f"class Env{number}: ...\n")
    with (pool / "long.py").open("wb") as file:
        file.truncate(MAX_BYTES + 5)
    found = {one.name: one.content for one in read_programs(stored(s3, pool))}
    assert len(found) == AT_ONCE + 4
    assert found[f"game_{AT_ONCE + 2:05d}.py"] == f"class Env{AT_ONCE + 2}: ...\n".encode()
    assert len(found["long.py"]) == MAX_BYTES
