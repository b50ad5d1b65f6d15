"""Every variant of the designer's reward gives the reference's numbers (method.md §14) and obeys its settings."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.method import Profile
from spade_contracts.config.rewards import LearningPotentialConfig, MicroLpConfig
from spade_contracts.errors import InvalidInput
from spade_trainer.rewards.advantages import (
    baseline_advantages,
    centring_groups,
    designer_advantages,
    ema_baseline,
)
from spade_trainer.rewards.blend import blend
from spade_trainer.rewards.designer import Cause, reward_of, rewards_of, trackers_of
from spade_trainer.rewards.learning_potential import signed_potential, tracker_of
from spade_trainer.rewards.micro_lp import late_minus_early, micro_lp, slope
from spade_trainer.rewards.regret import paired_regret, regret_of
from spade_trainer.rewards.returns import discounted_returns
from spade_trainer.rewards.variance import variance_bonus
from spade_trainer.rewards.window import Window

AVERAGES = LearningPotentialConfig(fast=0.98, slow=0.85, variance_bonus=False)


def paper(switches: dict[str, str] | None = None, **rewards: Any) -> MethodConfig:
    return resolve(Profile.PAPER, {"rewards": rewards, "switches": switches or {}})


def wins(*per_offset: int) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple([1.0] * count + [0.0] * (8 - count)) for count in per_offset)


def value(window: Window, method: MethodConfig) -> float | None:
    return reward_of(window, method.rewards, method.switches).value


@pytest.mark.parametrize(
    ("rewards", "expected"), [([0, 0, 1], [0.9801, 0.99, 1]), ([0.1, -0.1, 1], [0.9811, 0.89, 1]), ([], [])]
)
def test_v4_discounted_returns(rewards: list[float], expected: list[float]) -> None:
    assert discounted_returns(rewards, 0.99) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("returns", "expected"),
    [([1.0] * 8 + [0.0] * 8, 1), ([1.0] * 8, 0.043937), ([1.0] * 4 + [0.0] * 12, 0.822578)],
)
def test_v5_variance_bonus(returns: list[float], expected: float) -> None:
    assert variance_bonus(returns) == pytest.approx(expected, abs=1e-6)


def test_v8_moving_average_of_the_player() -> None:
    batches = [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    credit = [baseline_advantages(own, ema_baseline(batches[:at], 0.5)).tolist() for at, own in enumerate(batches)]
    assert credit == [[1, 0], [0.5, 0.5], [-0.75, -0.75]]
    assert [ema_baseline(batches[: at + 1], 0.5) for at in range(3)] == [0.5, 0.75, 0.375]


def test_a_rollout_without_plays_leaves_the_moving_average_as_it_was() -> None:
    assert ema_baseline([[1.0], [], [0.0]], 0.5) == ema_baseline([[1.0], [0.0]], 0.5)
    assert ema_baseline([], 0.5) == 0.0


def test_v9_moving_averages_of_a_skill() -> None:
    seen = [tracker_of([0.25, 0.75, 0.5][: at + 1], AVERAGES) for at in range(3)]
    assert [t.fast for t in seen] == pytest.approx([0.25, 0.74, 0.5048])
    assert [t.slow for t in seen] == pytest.approx([0.25, 0.675, 0.52625])
    assert [signed_potential(t, AVERAGES) for t in seen] == pytest.approx([0, 0.25, -0.0825])
    assert 1 / (2 * (AVERAGES.fast - AVERAGES.slow)) == pytest.approx(3.846154, abs=1e-6)


def test_v10_gain_within_the_window() -> None:
    config = paper().rewards.micro_lp
    assert micro_lp(wins(0, 0, 0, 1), config) == pytest.approx(0.1125, abs=1e-6)
    assert micro_lp(wins(1, 2, 3, 3), config) == pytest.approx(0.2625, abs=1e-6)


def test_v12_regret_over_the_window() -> None:
    method = paper(variant="Regret")
    windows = [
        Window(((1.0, 0.0, 1.0, 0.0),), (0.75,), 0),
        Window(((1.0, 1.0, 1.0, 1.0),), (0.5,), 0),
        Window((), (), 1, step_timeouts=1),
        Window((), (0.25,), 0),
    ]
    rewards = rewards_of([("A", window) for window in windows], method.rewards, method.switches, {})
    values = [reward.value or 0.0 for reward in rewards]
    assert values == pytest.approx([0.25, 0, -0.5, 0.25])
    assert designer_advantages(values, ["A"] * 4, 32) == pytest.approx([8, 0, -16, 8])
    assert [reward.cause for reward in rewards].count(Cause.STEP_TIMEOUT) == 1


def test_v13_learning_potential() -> None:
    method = paper(variant="LearningPotential")
    environments = [("A", Window(((1.0,) * 4,), (), 0)), ("A", Window(((0.0, 0.0, 1.0, 0.0),), (), 0))]
    trackers = trackers_of(environments, method.rewards, {"A": [0.5]})
    assert (trackers["A"].fast, trackers["A"].slow) == pytest.approx((0.6225, 0.60625))
    values = [r.value or 0.0 for r in rewards_of(environments, method.rewards, method.switches, trackers)]
    assert values == pytest.approx([0.39375, 0.35625])
    assert designer_advantages(values, ["A", "A"], 32) == pytest.approx([0.6, -0.6])


def test_a_skill_counts_by_its_plays_not_by_its_environments() -> None:
    environments = [("A", Window(((1.0,) * 6,), (), 0)), ("A", Window(((0.0,) * 2,), (), 0))]
    assert trackers_of(environments, paper().rewards, {})["A"].slow == pytest.approx(0.75)


def test_the_variance_bonus_needs_two_plays_and_the_learning_potential() -> None:
    even, single = Window(((0.0, 1.0),), (), 0), Window(((0.5,),), (), 0)
    averages = {"fast": 0.98, "slow": 0.85, "variance_bonus": True}
    with_bonus = paper(variant="LearningPotential", learning_potential=averages)
    assert (value(even, with_bonus), value(single, with_bonus)) == (pytest.approx(1.5), pytest.approx(0.5))
    inert = paper(variant="Regret", learning_potential=averages)
    assert value(even, inert) == value(even, paper(variant="Regret"))


def test_corrected_refuses_a_variance_bonus_that_does_nothing() -> None:
    with pytest.raises(InvalidInput, match="varianceBonus does nothing with variant Blend"):
        resolve(Profile.CORRECTED, {"rewards": {"learning_potential": {"variance_bonus": True}}})


@pytest.mark.parametrize(
    ("offsets", "halves", "sloped"),
    [
        (((0.0,), (1.0,)), 1.0, 1.0),
        (((0.0,), (1.0,), (1.0,)), 1.0, 1.0),
        (((1.0,), (0.0,)), -1.0, -1.0),
        (((0.0,), (0.0, 0.0, 1.0), (1.0,)), 0.5, 1.0),
        (((-1.0,), (0.5,), (1.0,), (0.25,)), 0.875, 1.275),
    ],
)
def test_gain_by_both_estimators(offsets: tuple[tuple[float, ...], ...], halves: float, sloped: float) -> None:
    assert late_minus_early(offsets) == pytest.approx(halves)
    assert slope(offsets) == pytest.approx(sloped)


def test_a_loss_counts_only_where_the_gain_is_signed() -> None:
    falling = ((1.0,), (0.0,))
    for estimator in ("Slope", "Halves"):
        signed = MicroLpConfig(weight=1, scale=0.1, signed=True, estimator=estimator)
        assert micro_lp(falling, signed) == pytest.approx(-1)
        assert micro_lp(falling, signed.model_copy(update={"signed": False})) == 0
    assert value(Window(falling, (), 0), paper(variant="MicroLp")) == 0


OFFSETS = st.lists(st.lists(st.floats(-1, 1), max_size=6), min_size=2, max_size=6)


@given(OFFSETS)
def test_the_slope_is_that_of_a_weighted_least_squares_fit(offsets: list[list[float]]) -> None:
    means = [float(np.mean(returns)) if returns else 0.0 for returns in offsets]
    weights = np.sqrt([max(1, len(returns)) for returns in offsets])
    fitted = np.polyfit(np.arange(len(offsets)), means, 1, w=weights)[0] * (len(offsets) - 1)
    assert slope(offsets) == pytest.approx(float(fitted), abs=1e-9)


def test_one_rollout_shows_no_gain() -> None:
    assert micro_lp(((1.0, 0.0),), paper().rewards.micro_lp) == 0
    assert value(Window(((1.0,),), (), 0), paper(variant="MicroLp")) == 0


def test_the_variant_micro_lp_pays_for_halves_whatever_the_estimator() -> None:
    window = Window(((0.0,), (0.0, 0.0, 1.0), (1.0,)), (), 0)
    assert value(window, paper(variant="MicroLp")) == pytest.approx(0.5)


def test_all_terms_of_the_blend_are_weighted_by_their_scale() -> None:
    settings = paper(
        regret_weight=0.5,
        regret_floor=False,
        plateau_weight=0.3,
        micro_lp={"weight": 0.2, "scale": 0.1},
        frontier={"weight": 0.1, "scale": 0.08},
    ).rewards
    expected = 0.5 * (-0.3 / 0.15) + 0.2 * (0.05 / 0.1) + 0.3 * 0.2 - 0.1 * (0.3**2 / 0.08)
    assert blend(0.2, -0.3, settings, micro_lp=0.05) == pytest.approx(expected)


def test_without_a_floor_a_regret_beyond_full_pays_more() -> None:
    floored, bare = paper().rewards, paper(regret_floor=False).rewards
    assert blend(0.5, 0.3, floored) == pytest.approx(1.0)
    assert blend(0.5, 0.3, bare) == pytest.approx(0.6 + 0.4 * 2)


def test_a_negative_blend_is_masked_by_setting() -> None:
    losing = Window(((1.0, 1.0),), (0.5,), 0)
    masked, kept = paper(regret_floor=False), paper(regret_floor=False, negative_blends="Trained")
    rewards = [reward_of(losing, method.rewards, method.switches) for method in (masked, kept)]
    assert [(reward.masked, reward.trained) for reward in rewards] == [(True, False), (False, True)]
    assert rewards[0].value == pytest.approx(-0.4 * 0.5 / 0.15)


def test_a_penalty_is_never_masked() -> None:
    method = resolve(Profile.CORRECTED, {})
    reward = reward_of(Window(wins(4), (), 1), method.rewards, method.switches)
    assert (reward.value, reward.trained) == (-0.5, True)


def test_solve_rate_pays_for_the_plateau_alone() -> None:
    window = Window(wins(4), (1.0,), 0)
    assert value(window, paper(variant="SolveRate")) == pytest.approx(1.0)
    assert value(window, paper(variant="Blend")) == pytest.approx(1.0)
    assert value(Window(wins(2), (1.0,), 0), paper(variant="SolveRate")) == pytest.approx(0.4)


@pytest.mark.switch("stepTimeouts")
@pytest.mark.parametrize("variant", ["Blend", "SolveRate", "MicroLp", "LearningPotential"])
def test_only_regret_is_charged_for_timeouts_as_the_reference_has_it(variant: str) -> None:
    window = Window(wins(4), (0.5,), 1, step_timeouts=1)
    only, charged = paper(variant=variant), paper({"step_timeouts": "Charged"}, variant=variant)
    assert value(window, only) == value(Window(wins(4), (0.5,), 0), only)
    assert value(window, charged) == -0.5
    assert value(window, paper(variant="Regret")) == -0.5


def test_the_fault_penalty_is_a_setting() -> None:
    method = paper({"environment_fault_credit": "Designer"}, fault_penalty=0.25)
    assert value(Window(wins(4), (0.5,), 1), method) == -0.25


@pytest.mark.switch("missingReturns")
def test_missing_returns_are_left_out_or_count_as_zero() -> None:
    nothing, unhinted = Window((), (), 0), Window(((-1.0,) * 8,), (), 0)
    zero, out = paper(), paper({"missing_returns": "LeftOut"})
    assert (value(nothing, zero), value(nothing, out)) == (0.0, None)
    assert (value(unhinted, zero), value(unhinted, out)) == (pytest.approx(0.4), 0.0)
    regret = {"variant": "Regret"}
    assert value(unhinted, paper(**regret)) == pytest.approx(1.0)
    assert value(unhinted, paper({"missing_returns": "LeftOut"}, **regret)) == 0.0


@pytest.mark.switch("regretEstimator")
def test_the_regret_compares_arms_of_unlike_size_or_plays_of_one_seed() -> None:
    window = Window(((1.0, 0.0),), (1.0, 1.0, 0.0, 0.0), 0, pairs=((1.0, 1.0), (0.0, 1.0)))
    arms = regret_of(window, paper().switches)
    pairs = regret_of(window, paper({"regret_estimator": "Paired"}).switches)
    assert arms is not None
    assert pairs is not None
    assert (arms.value, pairs.value) == (0.0, 0.5)
    assert arms.standard_error == pytest.approx((1 / 3 / 4 + 0.5 / 2) ** 0.5)
    assert pairs.standard_error == pytest.approx(0.5)


def test_a_standard_error_needs_two_plays_of_each_arm() -> None:
    lone = regret_of(Window(((1.0,),), (1.0, 0.0), 0), paper().switches)
    known = regret_of(Window(((1.0, 0.0),), (), 0, hint_return=0.5), paper().switches)
    assert (lone and lone.standard_error, known and known.standard_error) == (None, None)
    single = paired_regret([(0.0, 1.0)])
    assert (single and single.value, single and single.standard_error) == (1.0, None)
    assert paired_regret([]) is None


def test_rewards_are_centred_within_a_skill_or_over_all() -> None:
    rewards, skills = [1.0, 0.0, 0.2], ["A", "A", "B"]
    by_skill = designer_advantages(rewards, centring_groups(skills, paper().rewards.centring), 1.0)
    by_batch = designer_advantages(rewards, centring_groups(skills, paper(centring="Batch").rewards.centring), 1.0)
    assert by_skill.tolist() == [0.5, -0.5, 0.0]
    assert by_batch.tolist() == pytest.approx([0.6, -0.4, -0.2])


@pytest.mark.parametrize("variant", ["Blend", "SolveRate", "MicroLp"])
def test_what_needs_a_window_refuses_to_be_paid_without_one(variant: str) -> None:
    with pytest.raises(InvalidInput, match="needs a whole window"):
        paper(variant=variant, delay_cycles=0)
    assert paper(variant="Regret", delay_cycles=0).rewards.delay_cycles == 0
