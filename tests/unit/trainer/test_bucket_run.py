"""A run in a bucket is what it is on a volume, from its preparation to its deletion."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.s3 import S3Service, s3_service
from tests.unit.trainer.byte_model import write_byte_model, write_weights
from tests.unit.trainer.whole_run import manifest_bytes, recorded, run, scripted, small
from tests.unit.trainer.written import Request

from spade_contracts.config import resolve
from spade_contracts.config.method import Profile
from spade_contracts.engine_api import LoadRequest
from spade_contracts.tasks import CleanupTask, OriginTask, PrepareTask, RunRef
from spade_trainer.chat import load_chat
from spade_trainer.engine.policies import boot_folder, find_policy
from spade_trainer.engine.refusals import Refused
from spade_trainer.store import layout, manifests
from spade_trainer.store.episodes import read_episodes, read_kept_episodes
from spade_trainer.store.objects import local_path, names, open_store, uri_of
from spade_trainer.store.policies import policy_files
from spade_trainer.store.retention import prune
from spade_trainer.store.tensors import digest_files
from spade_trainer.workers.cleanup import cleanup
from spade_trainer.workers.prepare import prepare

ROLLOUTS = 3


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Service]:
    with s3_service(tmp_path_factory.mktemp("staging")) as running:
        yield running


def reference(uri: str, name: str = "mini") -> RunRef:
    return RunRef(namespace="default", name=name, uid="u", storage_uri=uri)


def test_a_run_is_prepared_handed_to_engines_and_deleted(service: S3Service, tmp_path: Path) -> None:
    model = write_byte_model(tmp_path / "model")
    write_weights(model)
    (tmp_path / "corpus.jsonl").write_text('{"text": "One."}\n')
    settings = resolve(
        Profile.CORRECTED,
        {
            "environments": {"corpus": {"uri": (tmp_path / "corpus.jsonl").as_uri()}},
            "play": {"context_tokens": 1024},
        },
    )
    root = f"s3://{service.bucket()}/runs/default"
    task = PrepareTask(run=reference(f"{root}/mini"), model_uri=model.as_uri(), method=settings)
    result = prepare(task)
    assert result.accepted
    assert prepare(task) == result

    store = open_store(f"{root}/mini")
    policy = manifests.read_policy(store, 0)
    assert digest_files(boot_folder(store).glob("*.safetensors")).sha256 == policy.tensors_sha256
    for other in ("file:///etc", f"{root}/other/policies/0000", f"s3://elsewhere/{layout.policy_folder(0)}"):
        with pytest.raises(Refused, match="is not where policy 0 of this run lies"):
            find_policy(store, LoadRequest(policy_version=0, uri=other))
    found, manifest = find_policy(store, LoadRequest(policy_version=0, uri=uri_of(store, layout.policy_folder(0))))
    assert (found, manifest) == (local_path(store, layout.policy_folder(0)), policy)

    follower = task.model_copy(
        update={
            "run": reference(f"{root}/second", "second"),
            "model_uri": "",
            "origin": OriginTask(run="mini", storage_uri=f"{root}/mini"),
        }
    )
    assert prepare(follower).accepted
    assert manifests.read_policy(open_store(f"{root}/second"), 0).tensors_sha256 == policy.tensors_sha256

    assert cleanup(CleanupTask(run=reference(f"{root}/mini"))).removed == 3
    assert names(store, "") == ()
    assert names(open_store(root), "") == ("second",)
    assert not local_path(store, layout.policy_folder(0)).exists()


async def test_a_worker_of_a_run_in_a_bucket_copies_no_weights(service: S3Service, tmp_path: Path) -> None:
    model = write_byte_model(tmp_path / "model")
    write_weights(model)
    (tmp_path / "corpus.jsonl").write_text('{"text": "One."}\n')
    patch = {
        "environments": {"corpus": {"uri": (tmp_path / "corpus.jsonl").as_uri()}},
        "play": {"context_tokens": 1024},
    }
    uri = f"s3://{service.bucket()}/runs/default/mini"
    settings = resolve(Profile.CORRECTED, patch)
    assert prepare(PrepareTask(run=reference(uri), model_uri=model.as_uri(), method=settings)).accepted
    store = open_store(uri)
    store_elsewhere = open_store(f"{uri}/")
    local = local_path(store, layout.policy_folder(0))
    for file in local.iterdir():
        file.unlink()
    folder = policy_files(store_elsewhere, 0, weights=False)
    assert load_chat(folder).encode("the") == load_chat(model).encode("the")
    assert not list(folder.glob("*.safetensors"))


async def test_the_manifests_of_a_run_are_the_same_in_a_bucket_as_on_a_volume(
    service: S3Service, tmp_path: Path
) -> None:
    def won(request: Request) -> bool:
        return ((request.play or 0) + request.slot) % 3 == 0

    config = small()
    chat = load_chat(write_byte_model(tmp_path / "model", context_tokens=65536))
    volume = open_store((tmp_path / "run").as_uri())
    bucket = open_store(f"s3://{service.bucket()}/runs/default/mini")
    await run(volume, config, ROLLOUTS, chat, scripted(chat, config, ROLLOUTS, won))
    await run(bucket, config, ROLLOUTS, chat, recorded(volume, config, ROLLOUTS, chat), workers=2)
    expected = manifest_bytes(volume, ROLLOUTS, config)
    assert manifest_bytes(bucket, ROLLOUTS, config) == expected

    rollout = manifests.read_rollout(bucket, 0)
    assert len(read_episodes(bucket, rollout)) == rollout.planned
    going = prune(bucket, keep_policies=1, keep_checkpoints=1, keep_episodes=1)
    assert going.episodes == ()
    assert len(read_kept_episodes(bucket, rollout)) == rollout.planned
