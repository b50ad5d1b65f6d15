"""The loss in numpy is the learner's in torch."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config import resolve
from spade_contracts.config.method import Profile
from spade_trainer.learner import loss
from spade_trainer.scoring import loss_terms

CONFIG = resolve(Profile.PAPER, {}).learner.loss
VALUES = st.lists(st.tuples(*[st.floats(-8, 0)] * 3, st.floats(-3, 3), st.booleans()), min_size=1, max_size=10)


def test_both_clamp_alike() -> None:
    assert (loss_terms.KL_CLAMP, loss_terms.DIFFERENCE_CLAMP) == (loss.KL_CLAMP, loss.DIFFERENCE_CLAMP)


@given(VALUES, st.integers(1, 20))
def test_every_term_is_that_of_the_learner(
    rows: list[tuple[float, float, float, float, bool]], denominator: int
) -> None:
    train, other, reference, advantage = (np.array([row[at] for row in rows]) for at in range(4))
    mask = np.array([row[4] for row in rows])
    ours = (torch.from_numpy(array) for array in (train, other, reference, advantage))
    t_train, t_other, t_reference, t_advantage = ours

    ratios = loss_terms.ratio(train, other)
    policy, clipped = loss_terms.policy_loss(ratios, advantage, CONFIG.clip_low, CONFIG.clip_high)
    t_policy, t_clipped = loss.policy_loss(torch.exp(t_train - t_other), t_advantage, CONFIG.clip_low, CONFIG.clip_high)
    assert policy.tolist() == pytest.approx(t_policy.tolist())
    assert clipped.tolist() == t_clipped.tolist()

    _, weight, cut = loss_terms.truncated_importance(train, other, CONFIG.importance_low, CONFIG.importance_high)
    t_weight, t_cut = loss.truncated_importance(t_train, t_other, CONFIG.importance_low, CONFIG.importance_high)
    assert weight.tolist() == pytest.approx(t_weight.tolist())
    assert cut.tolist() == t_cut.tolist()

    kl = loss_terms.kl_penalty(train, reference)
    assert kl.tolist() == pytest.approx(loss.kl_penalty(t_train, t_reference).tolist())

    by_token, _, _ = loss.token_losses(t_train, t_other, t_advantage, CONFIG)
    weighted = loss_terms.policy_loss(np.ones(len(rows)), advantage, CONFIG.clip_low, CONFIG.clip_high)[0] * weight
    summed = loss.summed_sample_means(by_token[None], torch.from_numpy(mask)[None], torch.tensor([float(denominator)]))
    assert loss_terms.sample_mean(weighted, mask, denominator) == pytest.approx(summed.item(), abs=1e-9)
