"""Policies on disk: whole files for every reader, and nothing of another policy."""

import json
import stat
from pathlib import Path

import pytest
import torch

from spade_contracts.errors import InvalidInput
from spade_trainer.models import hf_io


def tensors(count: int) -> dict[str, torch.Tensor]:
    return {f"layer.{index}.weight": torch.full((4, 4), float(index)) for index in range(count)}


def write(folder: Path, count: int) -> dict[str, torch.Tensor]:
    made = tensors(count)
    total = sum(tensor.numel() * tensor.element_size() for tensor in made.values())
    hf_io.write_tensors(folder, iter(sorted(made.items())), total_bytes=total)
    return made


def test_tensors_read_back_as_they_were_written(tmp_path: Path) -> None:
    made = write(tmp_path, 3)
    with hf_io.open_tensors(tmp_path) as opened:
        assert opened.names == set(made)
        assert all(torch.equal(opened.read(name), tensor) for name, tensor in made.items())


def test_a_large_policy_is_several_files_with_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf_io, "MAX_FILE_BYTES", 200)
    made = write(tmp_path, 10)
    files = sorted(path.name for path in tmp_path.glob("*.safetensors"))
    assert files == [f"model-{index:05d}-of-00004.safetensors" for index in range(1, 5)]
    index = json.loads((tmp_path / hf_io.INDEX).read_text())
    assert set(index["weight_map"]) == set(made)
    assert set(index["weight_map"].values()) == set(files)
    with hf_io.open_tensors(tmp_path) as opened:
        assert opened.names == set(made)


def test_another_user_can_read_the_files(tmp_path: Path) -> None:
    write(tmp_path, 1)
    assert stat.S_IMODE((tmp_path / "model.safetensors").stat().st_mode) == 0o644


def test_a_tensor_in_two_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path, 1)
    (tmp_path / "other.safetensors").write_bytes((tmp_path / "model.safetensors").read_bytes())
    with pytest.raises(InvalidInput, match="two files"), hf_io.open_tensors(tmp_path):
        pass


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path, 1)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(InvalidInput, match=r"model\.safetensors"), hf_io.open_tensors(tmp_path):
        pass


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    write(tmp_path, 1)
    with hf_io.open_tensors(tmp_path) as opened, pytest.raises(InvalidInput, match=r"lm_head\.weight"):
        opened.read("lm_head.weight")


def test_companions_are_copied_and_nothing_else(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    write(source, 1)
    for name in ("config.json", "tokenizer.json", "policy.json", hf_io.INDEX, ".hidden", "timings-learner.json"):
        (source / name).write_text("{}")
    hf_io.copy_companions(source, target)
    assert sorted(path.name for path in target.iterdir()) == ["config.json", "tokenizer.json"]


def test_a_folder_without_a_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"config\.json"):
        hf_io.read_config(tmp_path)
