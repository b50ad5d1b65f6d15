"""What is in run storage is whole, is created once, and never changes."""

import multiprocessing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.errors import InvalidInput, ManifestMissing, StorageConflict
from spade_contracts.manifests import EnvironmentReturns, RolloutManifest
from spade_trainer.store import manifests
from spade_trainer.store.objects import (
    create,
    create_same,
    every_name,
    exists,
    names,
    open_store,
    read_bytes,
    read_chunks,
    remove,
    replace,
)


def create_in_process(uri: str, content: bytes, start: object, results: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    results.put(create(open_store(uri), "units/manifest.json", content))  # type: ignore[attr-defined]


def test_one_of_many_concurrent_creators_wins_and_its_content_is_whole(uri: str) -> None:
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    contents = [bytes([65 + i]) * 200_000 for i in range(4)]
    processes = [context.Process(target=create_in_process, args=(uri, content, start, results)) for content in contents]
    for process in processes:
        process.start()
    start.set()
    won = [results.get(timeout=300) for _ in processes]
    for process in processes:
        process.join(60)
    assert won.count(True) == 1
    assert read_bytes(open_store(uri), "units/manifest.json") in contents


def test_the_same_content_twice_is_fine_and_other_content_is_a_conflict(uri: str) -> None:
    store = open_store(uri)
    create_same(store, "run.json", b"one")
    create_same(store, "run.json", b"one")
    with pytest.raises(StorageConflict):
        create_same(store, "run.json", b"two")
    assert read_bytes(store, "run.json") == b"one"


def test_unfinished_files_are_not_listed_and_missing_folders_are_empty(uri: str) -> None:
    store = open_store(uri)
    create(store, "cycles/0000/designs-s001-a00.parquet", b"x")
    create(store, "cycles/0000/.batch.json.abc.tmp", b"half")
    create(store, "cycles/0000/programs/s001.py", b"class A: pass")
    assert names(store, "cycles/0000") == ("designs-s001-a00.parquet", "programs")
    assert every_name(store, "cycles/0000") == (".batch.json.abc.tmp", "designs-s001-a00.parquet", "programs")
    assert names(store, "rollouts/0000") == ()
    assert names(open_store(f"{uri}/nothing"), "") == ()


def test_what_was_just_written_is_listed_and_read(uri: str) -> None:
    writer, reader = open_store(uri), open_store(uri)
    assert names(reader, "steps") == ()
    assert not exists(reader, "steps/0000/step.json")
    create(writer, "steps/0000/step.json", b"{}")
    assert names(reader, "steps") == ("0000",)
    assert exists(reader, "steps/0000/step.json")


def test_replace_puts_new_content_in_place_of_the_old(uri: str) -> None:
    store = open_store(uri)
    replace(store, "timings.json", b"1")
    replace(store, "timings.json", b"2")
    assert read_bytes(store, "timings.json") == b"2"


def test_content_comes_whole_in_pieces(uri: str) -> None:
    store, content = open_store(uri), bytes(range(256)) * 10_000
    create(store, "large", content)
    create(store, "empty", b"")
    assert b"".join(read_chunks(store, "large")) == content
    assert b"".join(read_chunks(store, "empty")) == b""
    with pytest.raises(FileNotFoundError):
        list(read_chunks(store, "nothing"))


def test_removing_what_is_not_there_is_fine(uri: str) -> None:
    store = open_store(uri)
    for name in ("policies/0001/model.safetensors", "policies/0001/a/b", "policies/00010/kept"):
        create(store, name, b"x")
    remove(store, "policies/0001")
    remove(store, "policies/0001")
    assert names(store, "policies") == ("00010",)
    remove(store, "policies/00010/kept")
    assert names(store, "policies/00010") == ()


def test_reading_an_unfinished_unit_says_so(uri: str) -> None:
    with pytest.raises(ManifestMissing):
        manifests.read_rollout(open_store(uri), 3)


@pytest.mark.parametrize(
    "uri",
    [
        "ftp://host/run",
        "file://host/run",
        "relative/run",
        "s3:///run",
        "s3://bucket//run",
        "s3://key:secret@bucket/run",
        "s3://bucket/run?versionId=1",
    ],
)
def test_a_storage_that_is_not_supported_is_named_with_what_to_write(uri: str) -> None:
    with pytest.raises(InvalidInput, match=r"storage.uri"):
        open_store(uri)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FLOATS, max_size=5), st.dictionaries(st.text(max_size=5), st.integers(0, 9), max_size=5))
def test_a_manifest_has_one_spelling_and_reads_back_equal(returns: list[float], counts: dict[str, int]) -> None:
    def manifest(outcomes: dict[str, int]) -> RolloutManifest:
        entry = EnvironmentReturns(
            id="c0000-s000", unhinted=tuple(returns), hinted=(), environment_faults=0, retired=False
        )
        return RolloutManifest(
            rollout=0,
            cycle=0,
            policy_version=0,
            planned=1,
            outcomes=outcomes,
            environments=(entry,),
            verifier_failures={},
            episodes=(),
        )

    content = manifests.canonical_json(manifest(counts))
    assert content == manifests.canonical_json(manifest(dict(reversed(list(counts.items())))))
    assert RolloutManifest.model_validate_json(content) == manifest(counts)


def test_a_manifest_with_nan_is_refused() -> None:
    entry = EnvironmentReturns(
        id="c0000-s000", unhinted=(float("nan"),), hinted=(), environment_faults=0, retired=False
    )
    with pytest.raises(ValueError, match="JSON"):
        manifests.canonical_json(entry)


def test_a_manifest_of_another_shape_is_refused_with_its_place(uri: str) -> None:
    store = open_store(uri)
    create(store, manifests.rollout_path(0), b'{"rollout": "x"}')
    with pytest.raises(InvalidInput, match=r"rollouts/0000/rollout.json"):
        manifests.read_rollout(store, 0)
