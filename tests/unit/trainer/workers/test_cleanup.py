"""A deleted run's folder goes whole, and nothing else goes with it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trainer.builders import method, run_manifest

from spade_contracts.errors import StorageConflict
from spade_contracts.tasks import CleanupTask, RunRef
from spade_trainer.store import manifests
from spade_trainer.store.objects import open_store
from spade_trainer.workers import cleanup as module
from spade_trainer.workers.cleanup import cleanup


def task(folder: Path) -> CleanupTask:
    return CleanupTask(run=RunRef(namespace="default", name="mini", uid="u", storage_uri=folder.as_uri()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run's folder beside another run's."""
    made = tmp_path / "default/mini"
    store = open_store(made.as_uri())
    manifests.write(store, manifests.run_path(), run_manifest(method()))
    (made / "policies/0000").mkdir(parents=True)
    (made / "policies/0000/model.safetensors").write_bytes(b"x")
    (made / ".half.tmp").write_bytes(b"x")
    shutil.copytree(made, tmp_path / "default/other")
    return made


def test_folder_is_deleted_and_its_neighbour_is_not(tmp_path: Path, folder: Path) -> None:
    assert cleanup(task(folder)).removed == 3
    assert [path.name for path in (tmp_path / "default").iterdir()] == ["other"]
    assert (tmp_path / "default/other/policies/0000/model.safetensors").exists()
    assert cleanup(task(folder)).removed == 0, "twice is no error"


def test_interrupted_deletion_still_says_whose_folder_it_is_and_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = module.remove, [2]

    def failing(store: Any, path: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError("the disk is gone")
        real(store, path)

    monkeypatch.setattr(module, "remove", failing)
    with pytest.raises(OSError, match="disk"):
        cleanup(task(folder))
    assert [path.name for path in folder.iterdir()] == ["run.json"]
    monkeypatch.undo()
    assert cleanup(task(folder)).removed == 1
    assert not folder.exists()


def test_folder_of_another_run_is_left_as_it_is(folder: Path) -> None:
    (folder / "run.json").unlink()
    manifests.write(open_store(folder.as_uri()), "run.json", run_manifest(method()).model_copy(update={"name": "maxi"}))
    with pytest.raises(StorageConflict, match="default/maxi"):
        cleanup(task(folder))
    assert (folder / "policies/0000/model.safetensors").exists()


def test_path_that_is_not_the_runs_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(StorageConflict, match="is not the folder of"):
        cleanup(task(tmp_path))
    assert folder.exists()
