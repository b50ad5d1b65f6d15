"""The baseline of the learnable fraction: a run's own, for the same skills, after a warm-up, and never of itself."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config import resolve
from spade_contracts.config.method import Profile
from spade_contracts.resources.spade_run import LearnableBaseline
from spade_operator.reconcile.baseline import WARM_UP_ROLLOUTS, WINDOW_ROLLOUTS, baseline, skill_set, with_rollout

FRACTIONS = st.lists(st.integers(0, 1000).map(lambda thousandths: f"{thousandths / 1000:.3f}"), min_size=1, max_size=40)


def after(fractions: list[str | None], skills: str = "0") -> dict[str, LearnableBaseline]:
    known: dict[str, LearnableBaseline] = {}
    for fraction in fractions:
        known = with_rollout(known, skills, fraction)
    return known


@given(FRACTIONS)
def test_it_lies_between_the_least_and_the_most_and_is_told_after_the_warm_up(fractions: list[str]) -> None:
    told = baseline(after([*fractions]), "0")
    assert (told is not None) is (len(fractions) >= WARM_UP_ROLLOUTS)
    if told is not None:
        assert Decimal(min(fractions)) <= Decimal(told) <= Decimal(max(fractions))


@given(FRACTIONS.filter(lambda fractions: len(fractions) <= WINDOW_ROLLOUTS))
def test_it_is_the_mean_of_the_first_rollouts(fractions: list[str]) -> None:
    mean = sum(Decimal(fraction) for fraction in fractions) / len(fractions)
    assert abs(Decimal(after([*fractions])["0"].mean) - mean) <= Decimal("0.0005") * len(fractions)


def test_it_follows_a_run_that_has_changed_for_good() -> None:
    told = baseline(after(["0.800"] * 20 + ["0.200"] * 20), "0")
    assert told is not None
    assert Decimal(told) < Decimal("0.3")


def test_rollout_without_a_measurement_changes_nothing() -> None:
    assert after(["0.500", None, None]) == after(["0.500"])


def test_sets_of_skills_have_baselines_of_their_own() -> None:
    known = with_rollout(after(["0.900"] * WARM_UP_ROLLOUTS, "0"), "3", "0.100")
    assert baseline(known, "0") == "0.900"
    assert baseline(known, "3") is None


def test_cycles_that_train_the_same_skills_share_one() -> None:
    settings = resolve(Profile.PAPER, {}).environments
    several = settings.model_copy(update={"skills": ("a", "b", "c", "d", "e", "f"), "active_skills": 3})
    assert [skill_set(several, cycle) for cycle in range(4)] == ["0", "3", "0", "3"]
    everything = several.model_copy(update={"active_skills": 6})
    assert {skill_set(everything, cycle) for cycle in range(4)} == {"0"}
