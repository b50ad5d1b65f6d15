"""Libraries that want files get proven copies of what lies in S3, and what they write there is stored."""

import multiprocessing
from pathlib import Path

import pytest

from spade_trainer.store.files import StorageUnreachable
from spade_trainer.store.objects import Store, create, local_path, names, open_store, read_bytes, replace
from spade_trainer.store.staging import fetch, forget, forget_others, publish, sha256_of


def written(store: Store, folder: str) -> dict[str, str]:
    """Two files in the local folder; name → SHA-256."""
    local = local_path(store, folder)
    local.mkdir(parents=True)
    (local / "config.json").write_text("{}")
    (local / "model.safetensors").write_bytes(b"weights" * 1000)
    (local / ".half.tmp").write_bytes(b"half")
    (local / ".metadata").write_bytes(b"of torch_dist")
    return {name: sha256_of(local / name) for name in (".metadata", "config.json", "model.safetensors")}


def test_what_is_published_is_fetched_equal(uri: str) -> None:
    store = open_store(uri)
    digests = written(store, "policies/0001")
    assert publish(store, "policies/0001") == (digests if store.files.staged else {})
    forget(store, "policies/0001")
    assert names(store, "policies/0001") == ("config.json", "model.safetensors")
    local = fetch(open_store(uri), "policies/0001", digests)
    assert {name: sha256_of(local / name) for name in digests} == digests


@pytest.mark.parametrize("uri", ["s3"], indirect=True)
def test_a_copy_is_read_once_and_only_what_is_asked_for(uri: str) -> None:
    store = open_store(uri)
    digests = written(store, "policies/0001")
    publish(store, "policies/0001")
    forget(store, "policies/0001")
    small = {"config.json": digests["config.json"]}
    local = fetch(store, "policies/0001", small)
    assert [file.name for file in local.iterdir()] == ["config.json"]
    replace(store, "policies/0001/config.json", b"changed")
    fetch(store, "policies/0001", digests)
    assert sorted(file.name for file in local.iterdir()) == [".metadata", "config.json", "model.safetensors"]
    assert (local / "config.json").read_text() == "{}", "a proven copy is not read again"


@pytest.mark.parametrize("uri", ["s3"], indirect=True)
def test_a_file_that_is_not_what_its_digest_says_has_no_name_here(uri: str) -> None:
    store = open_store(uri)
    create(store, "policies/0002/model.safetensors", b"damaged")
    wanted = {"model.safetensors": "0" * 64}
    with pytest.raises(StorageUnreachable, match="not what its manifest says"):
        fetch(store, "policies/0002", wanted)
    assert list(local_path(store, "policies/0002").iterdir()) == []
    with pytest.raises(StorageUnreachable, match="does not exist"):
        fetch(store, "policies/0002", {"gone.json": "0" * 64})


def fetch_in_process(uri: str, digests: dict[str, str], results: "multiprocessing.Queue[str]") -> None:
    results.put(str(fetch(open_store(uri), "policies/0001", digests)))


def test_processes_of_one_machine_share_a_copy(uri: str) -> None:
    store = open_store(uri)
    digests = written(store, "policies/0001")
    publish(store, "policies/0001")
    forget(store, "policies/0001")
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=fetch_in_process, args=(uri, digests, results)) for _ in range(2)]
    for process in processes:
        process.start()
    folders = {results.get(timeout=300) for _ in processes}
    for process in processes:
        process.join(60)
    assert folders == {str(local_path(store, "policies/0001"))}
    assert sha256_of(Path(folders.pop()) / "model.safetensors") == digests["model.safetensors"]


def test_copies_that_nobody_needs_go_and_the_store_keeps_all(uri: str) -> None:
    store = open_store(uri)
    for number in range(3):
        written(store, f"policies/{number:04d}")
        publish(store, f"policies/{number:04d}")
    forget_others(store, "policies", ["0000"])
    there = {folder.name for folder in local_path(store, "policies").iterdir() if folder.is_dir()}
    assert there == ({"0000"} if store.files.staged else {"0000", "0001", "0002"})
    assert names(store, "policies") == ("0000", "0001", "0002")
    assert read_bytes(store, "policies/0001/config.json") == b"{}"
