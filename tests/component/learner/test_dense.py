"""Dense Qwen3, with tied and untied embeddings: transformers' numbers, alone and cut by tensor parallelism."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.component.learner.ranks import on_ranks
from tests.component.learner.tiny import save_random_dense_model
from transformers import Qwen3ForCausalLM

from spade_trainer.store.policies import describe

TENSOR = {"tensor": 2}
LONG = 1500


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "policy"
    save_random_dense_model(folder, tied=request.param)
    save_random_dense_model(folder.parent / "reference", tied=request.param, seed=1)
    return str(folder)


def scores_of_transformers(folder: str | Path) -> torch.Tensor:
    """Log-probabilities of the tokens 0 to 39, as `two_steps` reports its own."""
    theirs, ids = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.bfloat16), torch.arange(40)[None]
    with torch.no_grad():
        return torch.log_softmax(theirs(ids).logits.float()[0, :-1], -1).gather(-1, ids[0, 1:, None])[:, 0]


def test_fp32_logits_are_those_of_transformers_at_long_positions(model: str) -> None:
    assert on_ranks(1, "logits_apart", model, LONG, None)[0] < 1e-5


def test_that_parity_would_see_a_wrong_rope_base(model: str) -> None:
    assert on_ranks(1, "logits_apart", model, LONG, 1e6)[0] > 1e-2


def test_a_step_has_the_loss_and_gradient_of_a_plain_loop_over_transformers(model: str) -> None:
    found = on_ranks(1, "step_like_transformers", model, 0.5)[0]
    for name, (ours, theirs) in found.items():
        assert ours == pytest.approx(theirs, rel=0.03, abs=2e-3), name
    assert found["norm"][1] > 0.1


def test_two_ranks_with_half_of_every_layer_train_what_one_rank_trains(model: str) -> None:
    alone = on_ranks(1, "two_steps", model, {}, 0.0, None)[0]
    both = on_ranks(2, "two_steps", model, TENSOR, 0.0, None)
    assert both[0] == both[1]
    assert both[0]["before"] == alone["before"]
    for ours, theirs in zip(both[0]["steps"], alone["steps"], strict=True):
        assert ours["gradient_norm"] > 0
        assert ours["loss"] == pytest.approx(theirs["loss"], abs=5e-3)
        assert ours["gradient_norm"] == pytest.approx(theirs["gradient_norm"], rel=0.02)
    assert both[0]["after"] != both[0]["before"]


@pytest.mark.parametrize(("ranks", "layout"), [(1, {}), (2, TENSOR)], ids=["one", "two"])
def test_an_export_is_what_the_ranks_compute_with(
    model: str, tmp_path: Path, ranks: int, layout: dict[str, int]
) -> None:
    found = on_ranks(ranks, "two_steps", model, layout, 0.0, str(tmp_path / "out"))[0]
    ours = torch.tensor(found["scores"])
    assert (scores_of_transformers(tmp_path / "out") - ours).abs().mean() < 0.015
    assert (scores_of_transformers(model) - ours).abs().mean() > 0.03


def test_an_export_without_a_step_has_the_bytes_of_the_import(model: str, tmp_path: Path) -> None:
    on_ranks(2, "export_unchanged", model, TENSOR, str(tmp_path / "out"))
    ours, theirs = describe(tmp_path / "out", 0), describe(Path(model), 0)
    assert (ours.tensors_sha256, ours.parameters) == (theirs.tensors_sha256, theirs.parameters)


def test_a_checkpoint_restores_weights_moments_and_the_step_count_in_either_layout(model: str, tmp_path: Path) -> None:
    storage = tmp_path.as_uri()
    saved = on_ranks(2, "save_checkpoint", model, TENSOR, storage)[0]
    again = on_ranks(2, "load_checkpoint", model, TENSOR, storage)[0]
    assert (again["saved"], again["next"]) == (saved["saved"], saved["next"])
    elsewhere = on_ranks(1, "load_checkpoint", model, {}, storage)[0]
    assert elsewhere["saved"] == saved["saved"]
    assert elsewhere["loss"] == pytest.approx(again["loss"], abs=5e-3)


def test_moving_off_the_device_and_back_changes_no_bit_of_the_steps(model: str) -> None:
    plain = on_ranks(2, "two_steps", model, TENSOR, 0.0, None)[0]
    for moved in on_ranks(2, "steps_with_moves", model, TENSOR, 0.0):
        assert moved["left"] == [0] * 2
        assert (moved["steps"], moved["after"]) == (plain["steps"], plain["after"])


def test_expert_parallelism_is_refused(model: str) -> None:
    assert on_ranks(2, "refused_layout", model, {"expert": 2}) == ["spec.learner.parallelism.expert"] * 2


def test_context_parallelism_is_refused_and_megatron_has_none_without_transformer_engine(model: str) -> None:
    assert on_ranks(2, "refused_layout", model, {"context": 2}) == ["spec.learner.parallelism.context"] * 2
    (said,) = on_ranks(1, "context_parallel_attention")
    assert said == "Context parallelism is only supported by TEDotProductAttention!"


def with_head(folder: Path, factor: float) -> Path:
    """A model with tied embeddings whose file holds them a second time, times a factor."""
    save_random_dense_model(folder, tied=True)
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"] * factor
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize(("ranks", "layout"), [(1, {}), (2, TENSOR)], ids=["one", "two"])
def test_a_copy_of_tied_embeddings_is_in_the_export_as_it_was_in_the_import(
    tmp_path: Path, ranks: int, layout: dict[str, int]
) -> None:
    folder = with_head(tmp_path / "policy", 1.0)
    on_ranks(ranks, "export_unchanged", str(folder), layout, str(tmp_path / "out"))
    ours, theirs = describe(tmp_path / "out", 0), describe(folder, 0)
    assert (ours.tensors_sha256, ours.parameters) == (theirs.tensors_sha256, theirs.parameters)


def test_a_head_that_is_not_the_embeddings_it_is_tied_to_is_refused(tmp_path: Path) -> None:
    folder = str(with_head(tmp_path / "policy", 2.0))
    assert on_ranks(1, "refused_layout", folder, {}) == [folder]
