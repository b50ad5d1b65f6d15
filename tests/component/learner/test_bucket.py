"""A learner whose run lies in a bucket trains the same numbers, survives a kill, and leaves what engines can take."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.component.learner.process import RunningLearner, start_learner
from tests.component.learner.runs import in_bucket, make_run, settings
from tests.support.s3 import S3Service, s3_service

from spade_contracts.engine_api import LoadRequest
from spade_contracts.manifests import StepManifest
from spade_contracts.statuses import LearnerState
from spade_trainer.engine.policies import boot_folder, find_policy
from spade_trainer.store import layout, manifests
from spade_trainer.store.objects import Store, local_path, names, uri_of
from spade_trainer.store.tensors import digest_files

ROLLOUTS = 4


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Service]:
    with s3_service(tmp_path_factory.mktemp("staging")) as running:
        yield running


def trained(folder: Path, store: Store, *, kill_at: int | None = None) -> list[str]:
    """Parameter checksums of all steps, after a kill behind the step to version `kill_at`, if one is wanted."""
    if kill_at is not None:
        reach(start_learner(folder / "first", store), kill_at).kill()
    reach(start_learner(folder / "last", store), ROLLOUTS).stop()
    steps = (manifests.read(store, manifests.step_path(rollout), StepManifest) for rollout in range(ROLLOUTS))
    return [step.parameter_sha256 for step in steps]


def reach(learner: RunningLearner, version: int) -> RunningLearner:
    """Train up to a version, with its checkpoint and export."""
    try:
        learner.until(lambda _: True, seconds=300)
        assert learner.put_target(version) == 200
        learner.until(lambda now: now.policy_version == version and now.state is LearnerState.IDLE, seconds=400)
    except BaseException:
        learner.stop()
        raise
    return learner


def test_a_run_in_a_bucket_is_trained_resumed_and_handed_over(service: S3Service, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "folder", settings(), rollouts=ROLLOUTS)
    bucket = in_bucket(tmp_path / "folder", service)
    expected = trained(tmp_path / "a", folder)
    assert trained(tmp_path / "b", bucket, kill_at=3) == expected

    lists = [name for name in names(bucket, layout.checkpoint_folder(ROLLOUTS)) if name.startswith("files-")]
    assert lists == ["files-0.json"]
    assert not local_path(bucket, layout.checkpoint_folder(ROLLOUTS)).exists(), "no copy is left behind"
    request = LoadRequest(policy_version=ROLLOUTS, uri=uri_of(bucket, layout.policy_folder(ROLLOUTS)))
    found, manifest = find_policy(bucket, request)
    assert digest_files(found.glob("*.safetensors")).sha256 == manifest.tensors_sha256
    assert manifest == manifests.read_policy(folder, ROLLOUTS)
    assert (boot_folder(bucket) / "config.json").is_file()
