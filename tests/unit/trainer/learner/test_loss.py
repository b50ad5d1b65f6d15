"""The loss reproduces the reference's vectors, and keeps its promises for any numbers."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config import LossConfig
from spade_trainer.learner.loss import (
    KL_CLAMP,
    kl_penalty,
    policy_loss,
    summed_sample_means,
    token_losses,
    truncated_importance,
)

CONFIG = LossConfig(
    clip_low=0.2,
    clip_high=0.28,
    importance_low=0.0,
    importance_high=2.0,
    kl_coefficient=0.0,
    temperature=1.0,
    max_tokens_per_microbatch=64,
)
numbers = st.floats(-8, 8, width=32)
rows = st.lists(numbers, min_size=1, max_size=12)


def vector(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def test_v20_importance_weights_are_cut_at_two() -> None:
    present, drawn = vector(-1, -0.5, -2, -0.1, -3), vector(-1, -1.5, -1, -0.05, -4)
    weight, cut = truncated_importance(present, drawn, 0.0, 2.0)
    assert weight.tolist() == pytest.approx([1, 2, 0.367879, 0.951229, 2], abs=1e-6)
    assert cut.tolist() == [False, True, False, False, True]


def test_v21_the_clip_takes_the_worse_of_the_two_losses() -> None:
    ratio, advantage = vector(1, 1, 1.5, 1.5, 0.5, 0.5), vector(2, -2, 1, -1, 1, -1)
    loss, clipped = policy_loss(ratio, advantage, 0.2, 0.28)
    assert loss.tolist() == pytest.approx([-2, 2, -1.28, 1.5, -0.5, 0.8])
    assert clipped.tolist() == [False, False, True, False, False, True]


def test_v22_the_penalty_is_the_k3_estimate() -> None:
    penalty = kl_penalty(vector(-1, -1, -1), vector(-1, -0.5, -2))
    assert penalty.tolist() == pytest.approx([0, 0.148721, 0.367879], abs=1e-6)


@pytest.mark.parametrize(("denominators", "expected"), [((3, 1), 10.0), ((4, 4), 5.5)])
def test_v23_each_sample_counts_by_its_mean(denominators: tuple[float, float], expected: float) -> None:
    values = torch.tensor([[3.0, 6.0, 9.0], [4.0, 100.0, 0.0]])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    assert summed_sample_means(values, mask, vector(*denominators)).item() == pytest.approx(expected)


def test_v23_a_masked_sample_counts_nothing_even_where_it_is_no_number() -> None:
    values = torch.full((1, 3), math.nan)
    assert summed_sample_means(values, torch.zeros(1, 3, dtype=torch.bool), vector(1)).item() == 0


@given(rows)
def test_the_penalty_is_never_negative_nor_beyond_its_clamp(values: list[float]) -> None:
    penalty = kl_penalty(vector(*values), torch.zeros(len(values)))
    rounding = 1e-5
    assert bool((penalty >= -rounding).all())
    assert bool((penalty <= KL_CLAMP).all())


@given(st.floats(-1e4, 1e4, width=32))
def test_the_penalty_has_a_finite_gradient_however_far_the_policies_are_apart(distance: float) -> None:
    present = vector(distance).requires_grad_()
    kl_penalty(present, vector(0)).sum().backward()
    assert present.grad is not None
    assert bool(torch.isfinite(present.grad).all())


@given(rows, st.floats(-3, 3, width=32))
def test_one_step_on_a_rollout_never_meets_the_clip(values: list[float], advantage: float) -> None:
    present = vector(*values)
    by_token, weight, _ = token_losses(present, present, torch.tensor(advantage), CONFIG)
    assert weight.tolist() == [1.0] * len(values)
    assert by_token.tolist() == pytest.approx([-advantage] * len(values))


@given(rows, st.floats(-3, 3, width=32))
def test_the_gradient_of_a_token_is_minus_its_advantage_times_its_weight(values: list[float], advantage: float) -> None:
    present, drawn = vector(*values).requires_grad_(), torch.full((len(values),), -1.0)
    by_token, weight, _ = token_losses(present, drawn, torch.tensor(advantage), CONFIG)
    by_token.sum().backward()
    assert present.grad is not None
    assert present.grad.tolist() == pytest.approx((-advantage * weight).tolist(), abs=1e-5)


@given(st.lists(st.tuples(numbers, st.booleans()), min_size=1, max_size=12), st.floats(-3, 3, width=32), numbers)
def test_masked_tokens_change_neither_the_loss_nor_a_gradient(
    rows: list[tuple[float, bool]], advantage: float, other: float
) -> None:
    mask = torch.tensor([[trained for _, trained in rows]])

    def loss(replaced: bool) -> tuple[float, list[float]]:
        present = vector(*(value if trained or not replaced else other for value, trained in rows)).requires_grad_()
        by_token, _, _ = token_losses(present, torch.full_like(present, -1.0), torch.tensor(advantage), CONFIG)
        whole = summed_sample_means(by_token[None], mask, vector(1.0))
        whole.backward()
        assert present.grad is not None
        return whole.item(), present.grad.tolist()

    assert loss(replaced=False) == loss(replaced=True)
    assert all(slope == 0 for slope, (_, trained) in zip(loss(replaced=True)[1], rows, strict=True) if not trained)
