"""The formulas of method.md section 5 give the reference's numbers (method.md section 14)."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config import PlateauConfig, resolve
from spade_contracts.config.method import Profile
from spade_contracts.statuses import Outcome
from spade_trainer.rewards.advantages import (
    NotFinite,
    ShapeMismatch,
    designer_advantages,
    designer_scale,
    player_advantages,
)
from spade_trainer.rewards.designer import reward_of
from spade_trainer.rewards.learnable import difficulty
from spade_trainer.rewards.plateau import plateau
from spade_trainer.rewards.regret import hint_regret
from spade_trainer.rewards.returns import credited_return, episode_return
from spade_trainer.rewards.window import Window

PAPER = resolve(Profile.PAPER, {})
CORRECTED = resolve(Profile.CORRECTED, {})


@pytest.mark.parametrize(
    ("win_rate", "expected"),
    [
        (-0.2, 0),
        (0, 0),
        (0.15, 0),
        (0.2, 0.2),
        (0.275, 0.5),
        (0.4, 1),
        (0.5, 1),
        (0.6, 1),
        (0.65, 0.8),
        (0.7, 0.6),
        (0.85, 0),
        (1, 0),
    ],
)
def test_v1_plateau_of_the_paper(win_rate: float, expected: float) -> None:
    assert plateau(win_rate, PAPER.rewards.plateau) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("win_rate", "expected"), [(0, 0), (0.1, 0.5), (0.2, 1), (0.4, 1), (0.5, 0.5), (0.6, 0), (0.7, 0)]
)
def test_v2_plateau_of_the_later_phase(win_rate: float, expected: float) -> None:
    band = PlateauConfig(low=0.2, high=0.4, ramp=0.2)
    assert plateau(win_rate, band) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("rewards", "terminated", "expected"),
    [
        ([0.3, 0.5, 1], True, 1),
        ([0.3, 0.5], False, 0),
        ([], True, 0),
        ([5], True, 1),
        ([-3], True, -1),
        ([0.4, 0.6], True, 0.6),
        ([1, 0], True, 0),
    ],
)
def test_v3_episode_return(rewards: list[float], terminated: bool, expected: float) -> None:
    assert episode_return(rewards, terminated) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("designers", "players", "length", "expected"),
    [
        (24, 192, 4, 32),
        (24, 192, 8, 50),
        (20, 192, 4, 38.4),
        (24, 168, 4, 28),
        (48, 192, 4, 16),
        (16, 256, 32, 50),
        (0, 192, 4, 1),
    ],
)
def test_v6_designer_scale(designers: int, players: int, length: int, expected: float) -> None:
    assert designer_scale(designers, players, length, 50.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ([1, 0, 0, 0, 0, 0, 0, 0], [2.645751] + [-0.377964] * 7),
        ([1] * 8, [0] * 8),
        ([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, -1, -1, -1, -1]),
        ([1, 0.5, 0, -1], [1.183216, 0.507093, -0.169031, -1.521278]),
        ([1, -1], [1, -1]),
    ],
)
def test_v7_player_advantages(returns: list[float], expected: list[float]) -> None:
    assert player_advantages(returns) == pytest.approx(expected, abs=1e-6)


def wins(*per_offset: int) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple([1.0] * count + [0.0] * (8 - count)) for count in per_offset)


V10 = [
    # skill, window, win rate, plateau, regret, blend, advantage
    ("A", Window(wins(4, 4, 4, 4), (0.5625,), 0), 0.5, 1, 0.0625, 0.766667, 12.088889),
    ("A", Window(wins(8, 8, 8, 8), (1.0,), 0), 1, 0, 0, 0, -12.444444),
    ("A", Window(wins(0, 0, 0, 1), (0.75,), 0), 0.03125, 0, 0.75, 0.4, 0.355556),
    ("B", Window(wins(1, 2, 3, 3), (0.1,), 0), 0.28125, 0.525, -0.025, 0.315, 2.76),
    ("B", Window((), (), 0), 0, 0, 0, 0, -7.32),
    ("B", Window(((0.5,) * 8, (0.5,) * 8), (0.45,), 0), 0.5, 1, -0.05, 0.6, 11.88),
    ("B", Window((), (), 1, step_timeouts=1), 0, 0, 0, 0, -7.32),
]


def test_v10_blend_and_designer_advantages() -> None:
    settings = PAPER.rewards
    rewards = []
    for _, window, win_rate, level, regret, blend, _ in V10:
        assert window.win_rate == pytest.approx(win_rate)
        assert plateau(window.win_rate, settings.plateau) == pytest.approx(level)
        assert hint_regret(window, without_hint=0.0) == pytest.approx(regret)
        reward = reward_of(window, settings, PAPER.switches)
        assert reward.value == pytest.approx(blend, abs=1e-6)
        rewards.append(reward.value)
    advantages = designer_advantages(np.array(rewards, dtype=float), [row[0] for row in V10], 32.0)
    assert advantages == pytest.approx([row[6] for row in V10], abs=1e-6)


def test_v15_floored_and_penalised_regrets_are_centred_and_scaled() -> None:
    assert designer_advantages([0.3, 0.0, -0.5], ["A"] * 3, 32.0) == pytest.approx(
        [11.733333, 2.133333, -13.866667], abs=1e-6
    )


def test_v24_difficulty_shares() -> None:
    shares = difficulty([0.9, 0.8, 0.2, 0.1, 0.5])
    assert shares is not None
    assert (shares.easy, shares.learnable, shares.hard) == pytest.approx((0.2, 0.6, 0.2))


def test_no_environments_have_no_difficulty() -> None:
    assert difficulty([]) is None


RETURNS = st.lists(st.floats(-1, 1), min_size=1, max_size=64)


@given(RETURNS)
def test_player_advantages_sum_to_zero_and_keep_the_order_of_returns(returns: list[float]) -> None:
    advantages = player_advantages(returns)
    assert abs(float(advantages.sum())) < 1e-4 * len(returns)
    assert (np.diff(advantages[np.argsort(returns, kind="stable")]) >= 0).all()


@given(st.lists(st.tuples(st.floats(-1, 1), st.sampled_from("ABC")), min_size=1, max_size=64), st.floats(0.1, 50))
def test_designer_advantages_of_a_skill_sum_to_zero(pairs: list[tuple[float, str]], scale: float) -> None:
    advantages = designer_advantages([value for value, _ in pairs], [skill for _, skill in pairs], scale)
    for name in "ABC":
        own = [a for a, (_, skill) in zip(advantages, pairs, strict=True) if skill == name]
        assert abs(sum(own)) < 1e-9 * max(1, len(pairs)) * scale
        if len(own) == 1:
            assert own[0] == 0


def test_advantages_refuse_what_is_no_number_and_what_does_not_fit() -> None:
    with pytest.raises(NotFinite):
        player_advantages([1.0, float("nan")])
    with pytest.raises(ShapeMismatch):
        designer_advantages([1.0, 2.0], ["A"], 1.0)


def test_corrected_charges_the_designer_for_a_fault_in_play() -> None:
    faulty = Window(wins(4), (1.0,), 1)
    assert reward_of(faulty, CORRECTED.rewards, CORRECTED.switches).value == -CORRECTED.rewards.fault_penalty


def test_corrected_says_nothing_of_an_environment_whose_plays_were_all_lost() -> None:
    assert reward_of(Window((), (), 0), CORRECTED.rewards, CORRECTED.switches).value is None


def test_a_missing_hint_earns_no_regret_in_corrected() -> None:
    lost = Window(((-1.0,) * 8,), (), 0)
    assert reward_of(lost, CORRECTED.rewards, CORRECTED.switches).value == 0.0
    assert reward_of(lost, PAPER.rewards, PAPER.switches).value == pytest.approx(0.4)


@pytest.mark.parametrize("method", [PAPER, CORRECTED])
@pytest.mark.parametrize("hinted", [False, True])
def test_infrastructure_faults_are_never_scored(method: Any, hinted: bool) -> None:
    assert (
        credited_return(
            Outcome.INFRASTRUCTURE_FAULT, [1.0], terminated=True, fault="", hinted=hinted, switches=method.switches
        )
        is None
    )


@pytest.mark.switch("environmentFaultCredit")
@pytest.mark.parametrize(
    ("method", "fault", "hinted", "expected"),
    [
        (PAPER, "crash/step", False, -1.0),
        (PAPER, "invalid_return/step", True, -1.0),
        (PAPER, "timeout/step", False, None),
        (PAPER, "timeout/step", True, 0.0),
        (PAPER, "crash/reset", True, 0.0),
        (CORRECTED, "crash/step", False, None),
        (CORRECTED, "timeout/step", True, None),
    ],
)
def test_who_pays_for_an_environment_fault_follows_the_switches(
    method: Any, fault: str, hinted: bool, expected: float | None
) -> None:
    value = credited_return(
        Outcome.ENVIRONMENT_FAULT, [0.5], terminated=False, fault=fault, hinted=hinted, switches=method.switches
    )
    assert value == expected


@pytest.mark.switch("failedHintedPlays")
@pytest.mark.parametrize(("failed", "expected"), [("Zero", 0.0), ("Dropped", None)])
def test_a_hinted_play_that_failed_counts_as_lost_or_not_at_all(failed: str, expected: float | None) -> None:
    switches = resolve(Profile.PAPER, {"switches": {"failed_hinted_plays": failed}}).switches
    values = [
        credited_return(
            Outcome.ENVIRONMENT_FAULT, [], terminated=False, fault="timeout/step", hinted=hinted, switches=switches
        )
        for hinted in (True, False)
    ]
    assert values == [expected, None]


def test_a_truncated_episode_counts_as_lost() -> None:
    value = credited_return(
        Outcome.TRUNCATED, [0.5], terminated=False, fault="", hinted=False, switches=CORRECTED.switches
    )
    assert value == 0.0
