"""`spade-engine` names the file that is wrong, with exit code 2, before it starts anything."""

from pathlib import Path

import pytest

from spade_contracts.errors import InvalidInput, ManifestMissing
from spade_contracts.tasks import EngineTask, RunRef
from spade_trainer.engine import main as entry
from spade_trainer.store.objects import Store

SHA256 = "0f" * 32


def prepared(folder: Path, storage_uri: str) -> list[str]:
    run = RunRef(namespace="n", name="r", uid="u", storage_uri=storage_uri)
    (folder / "task.json").write_text(EngineTask(run=run, args={"max-num-seqs": "8"}).model_dump_json())
    for door in ("engine-data", "engine-control"):
        (folder / f"{door}.sha256").write_text(SHA256 + "\n")
    return ["--task", str(folder / "task.json"), "--tokens", str(folder), "--scratch", str(folder)]


def test_settings_come_from_the_mounted_files(tmp_path: Path) -> None:
    settings = entry.read_settings([*prepared(tmp_path, "file:///runs/r"), "--data-port", "1"])
    assert settings.task.args == {"max-num-seqs": "8"}
    assert (settings.data_sha256, settings.control_sha256) == (SHA256, SHA256)
    assert (settings.data_port, settings.status_port) == (1, 7422)


@pytest.mark.parametrize("name", ["task.json", "engine-data.sha256", "engine-control.sha256"])
@pytest.mark.parametrize("content", [None, "not it"])
def test_a_missing_or_broken_file_is_named(tmp_path: Path, name: str, content: str | None) -> None:
    arguments = prepared(tmp_path, "file:///runs/r")
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInput, match=name):
        entry.read_settings(arguments)
    with pytest.raises(SystemExit) as ended:
        entry.main(arguments)
    assert ended.value.code == 2


async def test_an_engine_does_not_start_before_policy_0_is_finished(tmp_path: Path) -> None:
    settings = entry.read_settings(prepared(tmp_path, f"file://{tmp_path}/empty"))
    with pytest.raises(ManifestMissing):
        await entry.run(settings)


async def test_a_refused_argument_ends_the_start(tmp_path: Path, store: Store) -> None:
    policy = Path(store.root) / "policies" / "0000"
    (policy / "config.json").write_text(
        '{"architectures": ["A"], "vocab_size": 9, "max_position_embeddings": 9, "eos_token_id": 1}'
    )
    settings = entry.read_settings(prepared(tmp_path, store.uri))
    task = settings.task.model_copy(update={"args": {"middleware": "evil.module"}})
    with pytest.raises(InvalidInput, match="middleware"):
        await entry.run(entry.Settings(task=task, data_sha256=SHA256, control_sha256=SHA256, scratch=tmp_path))


def test_a_scratch_folder_with_too_long_a_name_is_refused(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    with pytest.raises(InvalidInput, match="too long"):
        entry._private_folder(deep)
