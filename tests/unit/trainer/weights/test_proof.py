"""An engine is admitted only if it computes with the new policy, whatever it says it has loaded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.statuses import ProofResult
from spade_trainer.weights import proof
from spade_trainer.weights.probe import (
    MINIMUM_NOISE,
    PROBE_TOKENS,
    Expected,
    distance,
    measured_noise,
    probe_tokens,
)
from spade_trainer.weights.proof import judge, judge_canary

NOISE = 0.02
TOLERANCE = proof.TOLERANCE * NOISE
DISTINCT = proof.DISTINCT * NOISE

BASE = tuple(np.linspace(-8, -1, PROBE_TOKENS - 1).tolist())


def moved(by: float) -> tuple[float, ...]:
    """The base, each log-probability moved by so much."""
    return tuple(value + by for value in BASE)


def expected(old: float | None, canary: float = 1.0) -> Expected:
    """The new version is the base; the old one and the canary are so far from it."""
    return Expected(
        policy_version=5, new=BASE, old=None if old is None else moved(old), canary=moved(canary), noise=NOISE
    )


def result(scores: tuple[float, ...], old: float | None, *, checksum: bool = True, canary: bool = True) -> ProofResult:
    return judge(scores, expected(old), checksum_equal=checksum, canary_passed=canary).result


def test_an_engine_that_fits_a_distinct_new_version_is_verified() -> None:
    assert result(moved(NOISE), old=10 * DISTINCT) is ProofResult.VERIFIED


def test_an_engine_that_still_computes_with_the_old_version_is_not() -> None:
    assert result(moved(10 * DISTINCT), old=10 * DISTINCT) is ProofResult.MISMATCH


def test_within_the_tolerance_of_both_it_must_be_nearer_to_the_new() -> None:
    gap = 1.2 * DISTINCT
    assert result(moved(0.7 * gap), old=gap) is ProofResult.MISMATCH
    assert result(moved(0.3 * gap), old=gap) is ProofResult.VERIFIED


def test_versions_that_differ_by_less_than_the_noise_are_counted_apart() -> None:
    assert result(moved(0.1 * NOISE), old=0.9 * NOISE) is ProofResult.INDISTINGUISHABLE


@pytest.mark.parametrize("gap", [2.1 * NOISE, 0.5 * DISTINCT])
def test_an_engine_that_is_nearer_to_one_by_the_noise_has_decided(gap: float) -> None:
    assert result(moved(0.2 * gap), old=gap) is ProofResult.VERIFIED
    assert result(moved(0.8 * gap), old=gap) is ProofResult.MISMATCH


def test_versions_far_apart_are_never_left_to_the_checksum() -> None:
    assert result(moved(0.5 * TOLERANCE), old=-DISTINCT) is ProofResult.VERIFIED
    half_way = tuple(value + 0.51 * 1.1 * DISTINCT for value in BASE)
    assert result(half_way, old=1.1 * DISTINCT) is ProofResult.MISMATCH


@pytest.mark.parametrize("old", [None, 0.0, 0.5 * DISTINCT, 10 * DISTINCT])
def test_without_checksum_or_canary_nothing_is_admitted(old: float | None) -> None:
    assert result(BASE, old, checksum=False) is ProofResult.MISMATCH
    assert result(BASE, old, canary=False) is ProofResult.MISMATCH


def test_the_first_version_has_no_older_to_be_mistaken_for() -> None:
    assert result(moved(NOISE), old=None) is ProofResult.VERIFIED


@pytest.mark.parametrize("broken", [(), BASE[:-1], (float("nan"), *BASE[1:]), (float("-inf"), *BASE[1:])])
def test_scores_that_are_no_numbers_or_too_few_are_a_mismatch(broken: tuple[float, ...]) -> None:
    assert result(broken, old=None) is ProofResult.MISMATCH


def test_the_tolerance_follows_the_noise_of_the_model_and_the_probe() -> None:
    sensitive = Expected(policy_version=5, new=BASE, old=None, canary=moved(9), noise=10 * NOISE)
    scores = moved(2 * TOLERANCE)
    assert judge(scores, sensitive, checksum_equal=True, canary_passed=True).result is ProofResult.VERIFIED
    assert result(scores, old=None) is ProofResult.MISMATCH


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=4))
def test_noise_is_the_mean_move_under_nudged_norms_and_never_nothing(moves: list[float]) -> None:
    noise = measured_noise(BASE, [moved(by) for by in moves])
    assert noise == pytest.approx(max(MINIMUM_NOISE, sum(map(abs, moves)) / len(moves)))


def test_one_wrong_expert_moves_the_mean_past_the_tolerance() -> None:
    """A quarter of the tokens off by half a nat, all others exact."""
    scores = tuple(value + (0.5 if index % 4 == 0 else 0.0) for index, value in enumerate(BASE))
    assert result(scores, old=None) is ProofResult.MISMATCH


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_whatever_is_admitted_fits_and_is_nearer_to_the_new_where_that_can_be_told(off: float, old: float) -> None:
    scores = moved(off)
    if result(scores, old) in (ProofResult.VERIFIED, ProofResult.INDISTINGUISHABLE):
        assert distance(scores, BASE) <= TOLERANCE
        assert distance(scores, BASE) < distance(scores, moved(old)) + NOISE
        if abs(old) > 1.001 * DISTINCT:
            assert distance(scores, BASE) < distance(scores, moved(old))


@given(st.floats(-5, 5), st.floats(-0.5 * NOISE, 0.5 * NOISE))
def test_an_engine_that_computes_with_the_old_version_is_never_verified(old: float, noise: float) -> None:
    assert result(moved(old + noise), old) is not ProofResult.VERIFIED


def test_the_canary_passes_only_where_the_change_is_seen() -> None:
    assert judge_canary(moved(1.0), expected(None)) == ""
    assert "does not compute" in judge_canary(BASE, expected(None))
    assert "does not compute" in judge_canary(moved(3.0), expected(None))


def test_a_canary_that_could_not_be_seen_does_not_pass() -> None:
    assert "too small" in judge_canary(moved(0.5 * DISTINCT), expected(None, canary=0.5 * DISTINCT))


@given(st.integers(0, 2**31 - 1), st.integers(2, 200_000))
def test_the_probe_is_fixed_by_the_run_and_within_its_vocabulary(seed: int, vocabulary: int) -> None:
    tokens = probe_tokens(seed, vocabulary)
    assert tokens == probe_tokens(seed, vocabulary)
    assert len(tokens) == PROBE_TOKENS
    assert all(0 <= token < vocabulary for token in tokens)


def test_runs_have_their_own_probes() -> None:
    assert probe_tokens(1, 50_000) != probe_tokens(2, 50_000)
