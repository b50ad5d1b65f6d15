"""What is in run storage is whole, is created once, and never changes."""

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.errors import InvalidInput, ManifestMissing, StorageConflict
from spade_contracts.manifests import EnvironmentReturns, RolloutManifest
from spade_trainer.store import manifests
from spade_trainer.store.objects import create, create_same, exists, names, open_store, read_bytes, remove, replace


def create_in_process(uri: str, content: bytes, start: object, results: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    results.put(create(open_store(uri), "units/manifest.json", content))  # type: ignore[attr-defined]


def test_one_of_many_concurrent_creators_wins_and_its_content_is_whole(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    contents = [bytes([65 + i]) * 200_000 for i in range(4)]
    processes = [
        context.Process(target=create_in_process, args=(tmp_path.as_uri(), content, start, results))
        for content in contents
    ]
    for process in processes:
        process.start()
    start.set()
    won = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(60)
    assert won.count(True) == 1
    assert read_bytes(open_store(tmp_path.as_uri()), "units/manifest.json") in contents


def test_the_same_content_twice_is_fine_and_other_content_is_a_conflict(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    create_same(store, "run.json", b"one")
    create_same(store, "run.json", b"one")
    with pytest.raises(StorageConflict):
        create_same(store, "run.json", b"two")
    assert read_bytes(store, "run.json") == b"one"


def test_unfinished_files_are_not_listed_and_missing_folders_are_empty(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    create(store, "cycles/0000/designs-s001-a00.parquet", b"x")
    (tmp_path / "cycles/0000/.batch.json.abc.tmp").write_bytes(b"half")
    assert names(store, "cycles/0000") == ("designs-s001-a00.parquet",)
    assert names(store, "rollouts/0000") == ()


def test_replace_puts_new_content_in_place_of_the_old(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    replace(store, "timings.json", b"1")
    replace(store, "timings.json", b"2")
    assert read_bytes(store, "timings.json") == b"2"


def test_removing_what_is_not_there_is_fine(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    create(store, "policies/0001/model.safetensors", b"x")
    remove(store, "policies/0001")
    remove(store, "policies/0001")
    assert not exists(store, "policies/0001")


def test_reading_an_unfinished_unit_says_so(tmp_path: Path) -> None:
    with pytest.raises(ManifestMissing):
        manifests.read_rollout(open_store(tmp_path.as_uri()), 3)


@pytest.mark.parametrize("uri", ["s3://bucket/run", "file://host/run", "relative/run"])
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


def test_a_manifest_of_another_shape_is_refused_with_its_place(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    create(store, manifests.rollout_path(0), b'{"rollout": "x"}')
    with pytest.raises(InvalidInput, match=r"rollouts/0000/rollout.json"):
        manifests.read_rollout(store, 0)
