"""Megatron on CPU computes what transformers computes, in every layout, and its state survives exactly."""

from pathlib import Path

import pytest
import torch
from tests.component.learner.ranks import on_ranks
from tests.component.learner.tiny import save_random_model
from transformers import Qwen3MoeForCausalLM

from spade_trainer.models import hf_io
from spade_trainer.store.policies import describe

EXPERTS = {"expert": 2}
BOTH = {"tensor": 2, "expert": 2}
LONG = 1500


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "policy"
    save_random_model(folder)
    save_random_model(folder.parent / "reference", seed=1)
    return str(folder)


def test_fp32_logits_are_those_of_transformers_at_long_positions(model: str) -> None:
    assert on_ranks(1, "logits_apart", model, LONG, None)[0] < 1e-5


def test_that_parity_would_see_a_wrong_rope_base(model: str) -> None:
    assert on_ranks(1, "logits_apart", model, LONG, 1e6)[0] > 1e-2


@pytest.mark.parametrize("kl", [0.0, 0.5])
def test_a_step_has_the_loss_and_gradient_of_a_plain_loop_over_transformers(model: str, kl: float) -> None:
    found = on_ranks(1, "step_like_transformers", model, kl)[0]
    for name in ("loss", "norm", "kl") if kl else ("loss", "norm"):
        ours, theirs = found[name]
        assert ours == pytest.approx(theirs, rel=0.03, abs=2e-3), name
    assert found["norm"][1] > 0.1


def test_layouts_agree_and_train(model: str, tmp_path: Path) -> None:
    alone = on_ranks(1, "two_steps", model, {}, 0.0, None)[0]
    for layout in (EXPERTS, BOTH):
        both = on_ranks(2, "two_steps", model, layout, 0.0, None)
        assert both[0] == both[1]
        assert both[0]["before"] == alone["before"]
        for ours, theirs in zip(both[0]["steps"], alone["steps"], strict=True):
            assert ours["gradient_norm"] > 0
            assert ours["loss"] == pytest.approx(theirs["loss"], abs=5e-3)
            assert ours["gradient_norm"] == pytest.approx(theirs["gradient_norm"], rel=0.02)
        assert both[0]["after"] != both[0]["before"]


@pytest.mark.parametrize("kl", [0.0, 0.5])
def test_moving_off_the_device_and_back_changes_no_bit_of_the_steps(model: str, kl: float) -> None:
    plain = on_ranks(2, "two_steps", model, EXPERTS, kl, None)[0]
    for moved in on_ranks(2, "steps_with_moves", model, EXPERTS, kl):
        assert moved["left"] == [0, 0]
        # Weights in bf16; masters and two moments in fp32, half of each here; gradients in fp32.
        assert moved["moved_bytes"] > 4 * moved["parameter_bytes"]
        assert moved["steps"] == plain["steps"]
        assert moved["after"] == plain["after"]


def test_a_layout_whose_expert_gradients_megatron_gets_wrong_is_refused(model: str) -> None:
    assert on_ranks(2, "refused_layout", model, {"tensor": 2}) == ["spec.learner.parallelism.expert"] * 2


def test_an_export_is_what_the_ranks_compute_with(model: str, tmp_path: Path) -> None:
    found = on_ranks(2, "two_steps", model, EXPERTS, 0.1, str(tmp_path / "out"))[0]
    theirs = Qwen3MoeForCausalLM.from_pretrained(tmp_path / "out", dtype=torch.bfloat16)
    ids = torch.arange(40)[None]
    with torch.no_grad():
        scores = torch.log_softmax(theirs(ids).logits.float()[0, :-1], -1).gather(-1, ids[0, 1:, None])[:, 0]
    apart = (scores - torch.tensor(found["scores"])).abs().mean()
    before = Qwen3MoeForCausalLM.from_pretrained(model, dtype=torch.bfloat16)
    with torch.no_grad():
        old = torch.log_softmax(before(ids).logits.float()[0, :-1], -1).gather(-1, ids[0, 1:, None])[:, 0]
    assert apart < 0.015
    assert (old - torch.tensor(found["scores"])).abs().mean() > 0.03


@pytest.mark.parametrize("layout", [EXPERTS, BOTH], ids=["experts", "both"])
def test_an_export_without_a_step_has_the_bytes_of_the_import(
    model: str, tmp_path: Path, layout: dict[str, int]
) -> None:
    on_ranks(2, "export_unchanged", model, layout, str(tmp_path / "out"))
    ours, theirs = describe(tmp_path / "out", 0), describe(Path(model), 0)
    assert (ours.tensors_sha256, ours.parameters) == (theirs.tensors_sha256, theirs.parameters)
    assert hf_io.read_config(tmp_path / "out") == hf_io.read_config(Path(model))


def test_a_checkpoint_restores_weights_moments_and_the_step_count(model: str, tmp_path: Path) -> None:
    storage = tmp_path.as_uri()
    saved = on_ranks(2, "save_checkpoint", model, EXPERTS, storage)[0]
    again = on_ranks(2, "load_checkpoint", model, EXPERTS, storage)[0]
    assert (again["saved"], again["next"]) == (saved["saved"], saved["next"])
    elsewhere = on_ranks(2, "load_checkpoint", model, BOTH, storage)[0]
    assert elsewhere["saved"] == saved["saved"]
    assert elsewhere["loss"] == pytest.approx(again["loss"], abs=5e-3)


def test_a_step_that_is_not_finite_is_refused_on_every_rank_and_changes_nothing(model: str) -> None:
    assert on_ranks(2, "step_on_infinity", model) == [("StepNotFinite", True)] * 2


def test_a_batch_without_samples_changes_nothing(model: str) -> None:
    assert on_ranks(1, "step_on_nothing", model) == [True]


def test_masters_that_are_not_the_weights_are_found(model: str) -> None:
    assert "checkpoint 9" in on_ranks(1, "spoil_a_master", model)[0]
