"""`spade export` finds a run's policy in the cluster through a pod that can do nothing else, or in a folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.test_watch import run_with
from typer.testing import CliRunner

from spade_cli import export as exporting
from spade_cli.main import app
from spade_cli.storage_pod import image_of, manifest
from spade_contracts.errors import InvalidInput, ManifestMissing
from spade_contracts.manifests import PolicyManifest
from spade_trainer.store import layout, policies
from spade_trainer.store.objects import open_store

ROOT = "/storage/default/mini"
IMAGES = {"sandbox": "s", "worker": "w", "trainer": "registry/trainer@sha256:1"}


class Pod:
    """Has these files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def names(self, folder: str) -> tuple[str, ...]:
        below = (path.removeprefix(folder + "/") for path in self.files if path.startswith(folder + "/"))
        return tuple(sorted({path.partition("/")[0] for path in below}))

    def read(self, path: str) -> list[bytes]:
        return [self.files[path]]


def pod(*finished: int, unfinished: int | None = None) -> Any:
    files: dict[str, bytes] = {}
    for version in finished:
        said = PolicyManifest(policy_version=version, files={}, tensors=0, tensors_sha256="", parameters=0)
        files[f"{ROOT}/{layout.policy_folder(version)}/policy.json"] = said.model_dump_json().encode()
    if unfinished is not None:
        files[f"{ROOT}/{layout.policy_folder(unfinished)}/config.json"] = b""
    return Pod(files)


@pytest.mark.parametrize(("asked", "got"), [(None, 2), (3, 3)])
def test_newest_proven_policy_is_taken_unless_one_is_named(asked: int | None, got: int) -> None:
    found, _ = exporting.pod_policy(pod(0, 2, 3), run_with(policy_version=2), asked)
    assert found.policy_version == got


@pytest.mark.parametrize(
    ("there", "proven", "asked", "words"),
    [
        (pod(0, 2), 2, 7, "no finished policy version 7. There are 0, 2"),
        (pod(0, unfinished=2), 2, None, "no finished policy version 2. There are 0"),
        (pod(), None, None, "no finished policy. Is it"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(there: Any, proven: int | None, asked: int | None, words: str) -> None:
    with pytest.raises(ManifestMissing, match=words):
        exporting.pod_policy(there, run_with(policy_version=proven), asked)


def test_pod_mounts_the_claim_read_only_and_holds_nothing_else() -> None:
    made = manifest(run_with(), "image", "registry-key")
    spec = made["spec"]
    (container,), (volume,) = spec["containers"], spec["volumes"]
    assert made["metadata"]["namespace"] == "default"
    assert "labels" not in made["metadata"], "no NetworkPolicy or Service of a run may take it for one of its pods"
    assert volume["persistentVolumeClaim"] == {"claimName": "mini-storage", "readOnly": True}
    assert container["volumeMounts"][0]["readOnly"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["activeDeadlineSeconds"] > 0
    assert spec["imagePullSecrets"] == [{"name": "registry-key"}]
    assert container["resources"]["limits"]
    security = container["securityContext"]
    assert (security["allowPrivilegeEscalation"], security["readOnlyRootFilesystem"]) == (False, True)


def test_image_is_the_runs_own_unless_one_is_named() -> None:
    assert image_of(run_with(images=IMAGES), None) == IMAGES["trainer"]
    assert image_of(run_with(images=IMAGES), "mine") == "mine"
    with pytest.raises(InvalidInput, match="--image"):
        image_of(run_with(), None)


@pytest.mark.parametrize(
    ("source", "name"), [("mini", True), ("./mini", False), ("/runs/mini", False), ("file:///runs/mini", False)]
)
def test_names_and_places_are_told_apart(source: str, name: bool) -> None:
    assert exporting.is_name(source) is name


def test_what_is_neither_name_nor_place_is_refused() -> None:
    with pytest.raises(InvalidInput, match="neither a run's name nor a folder"):
        exporting.is_name("Mini Run")


def test_command_exports_from_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run" / layout.policy_folder(0)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    policies.finish(open_store((tmp_path / "run").as_uri()), 0)
    result = CliRunner().invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "Policy version 0" in result.output
    assert json.loads((tmp_path / "out/policy.json").read_text())["policy_version"] == 0
