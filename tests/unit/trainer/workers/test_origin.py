"""A run that starts from another run's policy gets exactly that policy, or is told what is missing."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trainer.workers.test_prepare import corpus, files, model, settings, task

from spade_contracts.statuses import PrepareResult
from spade_contracts.tasks import OriginTask, PrepareTask
from spade_trainer.store import layout, manifests, policies
from spade_trainer.store.objects import open_store
from spade_trainer.workers.prepare import prepare

__all__ = ["corpus", "model"]


@pytest.fixture
def source(tmp_path: Path, model: Path, corpus: Path) -> Path:
    """A run with policies 0, 4 and 7, of which each has other files."""
    folder = tmp_path / "claim/first"
    first = task(tmp_path, model, settings(corpus), storage=folder.as_uri(), name="first")
    assert prepare(first).accepted
    for version in (4, 7):
        made = folder / layout.policy_folder(version)
        shutil.copytree(folder / layout.policy_folder(0), made)
        (made / layout.POLICY).unlink()
        (made / "generation_config.json").write_text(f'{{"max_new_tokens": {version}}}')
        policies.finish(open_store(folder.as_uri()), version)
    return folder


def from_run(tmp_path: Path, corpus: Path, source: Path, **origin: Any) -> PrepareTask:
    plain = task(tmp_path, "", settings(corpus), storage=(tmp_path / "own").as_uri(), name="second")
    where = OriginTask(run="first", storage_uri=source.as_uri(), **origin)
    return plain.model_copy(update={"model_uri": "", "origin": where})


@pytest.mark.parametrize(
    ("origin", "version"),
    [({"policy_version": 4}, 4), ({"newest": 4}, 4), ({}, 7), ({"policy_version": 0, "newest": 7}, 0)],
    ids=["named", "newest that is proven", "newest that is stored", "policy 0"],
)
def test_policy_is_copied_and_recorded(
    tmp_path: Path, corpus: Path, model: Path, source: Path, origin: dict[str, int], version: int
) -> None:
    before = files(source)
    assert prepare(from_run(tmp_path, corpus, source, **origin)).accepted
    store = open_store((tmp_path / "own").as_uri())
    theirs = manifests.read_policy(open_store(source.as_uri()), version)
    assert manifests.read_policy(store, 0).files == theirs.files
    run = manifests.read_run(store)
    assert run.model_uri == model.as_uri(), "of the run at the beginning"
    assert run.origin is not None
    assert (run.origin.run, run.origin.policy_version) == ("first", version)
    assert run.origin.tensors_sha256 == theirs.tensors_sha256
    assert files(source) == before, "the source is read only"


def test_prepared_run_keeps_its_policy_when_the_source_has_newer_ones_or_is_gone(
    tmp_path: Path, corpus: Path, source: Path
) -> None:
    result = prepare(from_run(tmp_path, corpus, source, newest=4))
    before = files(tmp_path / "own")
    assert prepare(from_run(tmp_path, corpus, source, newest=7)) == result
    shutil.rmtree(source)
    assert prepare(from_run(tmp_path, corpus, source, newest=9)) == result
    assert prepare(from_run(tmp_path, corpus, source, policy_version=4)) == result
    assert files(tmp_path / "own") == before


def test_policy_of_a_preparation_that_did_not_end_gives_way_to_a_newer_one(
    tmp_path: Path, corpus: Path, source: Path
) -> None:
    assert prepare(from_run(tmp_path, corpus, source, newest=4)).accepted
    (tmp_path / "own/run.json").unlink()
    assert prepare(from_run(tmp_path, corpus, source, newest=7)).accepted
    store = open_store((tmp_path / "own").as_uri())
    origin = manifests.read_run(store).origin
    assert origin is not None
    assert origin.policy_version == 7
    assert manifests.read_policy(store, 0).files == manifests.read_policy(open_store(source.as_uri()), 7).files


def refused(result: PrepareResult) -> str:
    assert (result.accepted, result.reason) == (False, "PolicyNotFound")
    return result.message


def test_missing_version_is_told_with_those_that_are_there(tmp_path: Path, corpus: Path, source: Path) -> None:
    message = refused(prepare(from_run(tmp_path, corpus, source, policy_version=5)))
    assert "does not hold policy version 5 (there are 0, 4, 7)" in message
    assert not (tmp_path / "own/run.json").exists()


def test_missing_run_is_told(tmp_path: Path, corpus: Path) -> None:
    assert "holds no run first" in refused(prepare(from_run(tmp_path, corpus, tmp_path / "nowhere")))


def test_unfinished_policy_is_none(tmp_path: Path, corpus: Path, source: Path) -> None:
    (source / layout.policy_folder(7) / layout.POLICY).unlink()
    assert "there are 0, 4" in refused(prepare(from_run(tmp_path, corpus, source, policy_version=7)))


def test_damaged_policy_is_refused_and_not_finished(tmp_path: Path, corpus: Path, source: Path) -> None:
    (source / layout.policy_folder(4) / "generation_config.json").write_text("{}")
    message = refused(prepare(from_run(tmp_path, corpus, source, policy_version=4)))
    assert "generation_config.json is not what its policy.json says" in message
    assert not (tmp_path / "own/policies/0000/policy.json").exists()


def test_another_origin_for_a_prepared_run_is_a_conflict(tmp_path: Path, corpus: Path, source: Path) -> None:
    assert prepare(from_run(tmp_path, corpus, source, policy_version=4)).accepted
    other = prepare(from_run(tmp_path, corpus, source, policy_version=7))
    assert (other.accepted, other.reason) == (False, "StorageConflict")
    assert "origin" in other.message
