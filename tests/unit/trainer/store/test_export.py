"""What is reported as exported is the policy, byte for byte; what is not does not look like one."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from tests.support.s3 import S3Service

from spade_contracts.errors import InvalidInput, ManifestMissing, StorageConflict
from spade_contracts.manifests import PolicyManifest
from spade_trainer.store import layout, policies
from spade_trainer.store.export import Damaged, export, stored_policy
from spade_trainer.store.files import StorageRefused
from spade_trainer.store.objects import Store, create, names, open_store, read_bytes

FILES = {"config.json": b"{}", "tokenizer.json": b"[]" * 1000}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A run's storage with policies 0 and 3, and one that is not finished."""
    made = open_store((tmp_path / "run").as_uri())
    for version in (0, 3, 4):
        folder = tmp_path / "run" / layout.policy_folder(version)
        folder.mkdir(parents=True)
        for name, content in FILES.items():
            (folder / name).write_bytes(content + str(version).encode())
        if version != 4:
            policies.finish(made, version)
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize(("asked", "got"), [(0, 0), (3, 3), (None, 3)])
def test_policy_is_copied_with_its_manifest(tmp_path: Path, store: Store, asked: int | None, got: int) -> None:
    done = export(*stored_policy(store, asked), str(tmp_path / "out/policy"))
    assert (done.policy_version, done.files) == (got, 2)
    assert done.bytes == sum(len(content) + 1 for content in FILES.values())
    assert contents(tmp_path / "out/policy") == contents(tmp_path / "run" / layout.policy_folder(got))


def test_any_file_system_of_fsspec_is_a_target(store: Store) -> None:
    export(*stored_policy(store, 3), "memory://exports/three")
    fs = fsspec.filesystem("memory")
    assert fs.cat_file("/exports/three/config.json") == b"{}3"
    assert fs.exists("/exports/three/policy.json")


def test_version_that_is_not_there_or_not_finished_is_told_with_those_that_are(store: Store) -> None:
    for version in (2, 4):
        with pytest.raises(ManifestMissing, match=f"no finished policy version {version}. There are 0, 3"):
            stored_policy(store, version)


def test_folder_that_is_no_runs_is_told(tmp_path: Path) -> None:
    with pytest.raises(ManifestMissing, match="Is it a run's folder"):
        stored_policy(open_store(tmp_path.as_uri()), None)


def test_damaged_source_is_told_and_leaves_nothing_that_looks_like_a_policy(tmp_path: Path, store: Store) -> None:
    manifest, read = stored_policy(store, 3)
    (tmp_path / "run" / layout.policy_folder(3) / "tokenizer.json").write_bytes(b"other")
    with pytest.raises(Damaged, match=r"tokenizer\.json in run storage"):
        export(manifest, read, str(tmp_path / "out"))
    assert set(contents(tmp_path / "out")) == {"config.json"}


def test_source_that_ends_early_is_damage_and_a_second_try_copies_only_the_rest(tmp_path: Path, store: Store) -> None:
    manifest, read = stored_policy(store, 3)
    asked: list[str] = []

    def broken(name: str) -> Iterator[bytes]:
        asked.append(name)
        whole = b"".join(read(name))
        yield whole[:5] if name == "tokenizer.json" and asked.count(name) == 1 else whole

    with pytest.raises(Damaged):
        export(manifest, broken, str(tmp_path / "out"))
    export(manifest, broken, str(tmp_path / "out"))
    assert asked == ["config.json", "tokenizer.json", "tokenizer.json"]
    export(manifest, broken, str(tmp_path / "out"))
    assert len(asked) == 3, "a finished export is read and not copied again"


def test_target_that_changes_what_is_written_is_damage(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, read = stored_policy(store, 3)
    monkeypatch.setattr("spade_trainer.store.export._digest", lambda fs, path: "0" * 64)
    with pytest.raises(Damaged, match="reads back as something else"):
        export(manifest, read, "memory://exports/lying")
    assert not fsspec.filesystem("memory").exists("/exports/lying/policy.json")


def test_target_with_anything_else_is_left_as_it_is(tmp_path: Path, store: Store) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.tex").write_text("mine")
    with pytest.raises(StorageConflict, match=r"thesis\.tex"):
        export(*stored_policy(store, 3), str(tmp_path / "out"))
    export(*stored_policy(store, 3), str(tmp_path / "other"))
    with pytest.raises(StorageConflict, match="another policy"):
        export(*stored_policy(store, 0), str(tmp_path / "other"))
    assert set(contents(tmp_path / "out")) == {"thesis.tex"}


@pytest.mark.parametrize("name", ["../escape", "sub/file", "..", "policy.json"])
def test_manifest_cannot_name_a_file_outside_of_the_target(tmp_path: Path, name: str) -> None:
    manifest = PolicyManifest(policy_version=1, files={name: "0" * 64}, tensors=0, tensors_sha256="", parameters=0)
    with pytest.raises(InvalidInput, match=r"policy\.json"):
        export(manifest, lambda _: [b"x"], str(tmp_path / "out"))


def test_policy_goes_from_bucket_to_bucket(store: Store, s3: S3Service) -> None:
    source = open_store(f"s3://{s3.bucket()}/runs/mini")
    folder = layout.policy_folder(3)
    for name in names(store, folder):
        create(source, f"{folder}/{name}", read_bytes(store, f"{folder}/{name}"))
    target = f"s3://{s3.bucket()}/models/v3"
    done = export(*stored_policy(source, None), target)
    assert (done.policy_version, done.files) == (3, 2)
    assert read_bytes(open_store(target), "policy.json") == read_bytes(store, f"{folder}/policy.json")


def test_missing_credentials_are_told(store: Store, s3: S3Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(StorageRefused, match="no credentials"):
        export(*stored_policy(store, 3), "s3://bucket-of-nobody/policy")


@pytest.mark.parametrize("target", ["nothing://there", "gcs://bucket/policy"])
def test_file_system_that_is_not_installed_is_told(store: Store, target: str) -> None:
    with pytest.raises(InvalidInput, match="target"):
        export(*stored_policy(store, 3), target)
