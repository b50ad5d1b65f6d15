"""A nudge is one step of the dtype, up or down, of about the asked share of numbers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spade_trainer.learner.rounding import nudged, spacings


@given(st.floats(2.0**-100, 2.0**100), st.booleans())
def test_a_spacing_is_the_step_to_the_next_number_of_the_dtype(value: float, negative: bool) -> None:
    number = torch.tensor([-value if negative else value], dtype=torch.bfloat16)
    further = (number.float() + number.sign().float() * spacings(number)).to(torch.bfloat16)
    assert further.item() == torch.nextafter(number, number * float("inf")).item()


def test_about_the_asked_share_moves_as_often_up_as_down_and_by_one_step() -> None:
    random = torch.Generator().manual_seed(3)
    before = torch.rand(10_000, generator=random).add(0.5).to(torch.bfloat16)
    moves = nudged(before, 1 / 6, random).float() - before.float()
    assert (moves != 0).float().mean().item() == pytest.approx(1 / 6, rel=0.1)
    assert (moves > 0).sum().item() == pytest.approx((moves < 0).sum().item(), rel=0.15)
    assert torch.all(moves.abs() <= spacings(before))


def test_the_same_generator_moves_the_same_numbers() -> None:
    tensor = torch.ones(100, dtype=torch.bfloat16)
    first, second = (nudged(tensor, 0.5, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, nudged(tensor, 0.5, torch.Generator().manual_seed(2)))
