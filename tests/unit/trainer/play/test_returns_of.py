"""What a rollout says of an environment pairs plays of one seed and counts timeouts."""

from dataclasses import replace

from tests.unit.trainer.builders import episode, method

from spade_trainer.play.compose import returns_of

NAME = "c0000-s000"


def test_plays_of_one_seed_are_paired_where_neither_is_masked() -> None:
    plain = [episode(NAME, play, value) for play, value in enumerate((1.0, None, 0.0, 0.5))]
    helped = [episode(NAME, play, value, hinted=True) for play, value in enumerate((0.0, 1.0, 1.0))]
    assert returns_of(method(), NAME, [*helped, *plain]).pairs == ((1.0, 0.0), (0.0, 1.0))


def test_plays_of_other_seeds_or_of_none_are_no_pairs() -> None:
    plain, helped = episode(NAME, 0, 1.0), episode(NAME, 0, 0.0, hinted=True)
    assert returns_of(method(), NAME, [replace(plain, seed=7), helped]).pairs == ()
    assert returns_of(method(), NAME, [replace(plain, seed=None), replace(helped, seed=None)]).pairs == ()


def test_timeouts_of_reset_and_step_are_counted_among_the_faults() -> None:
    faults = ("timeout/step", "timeout/reset", "crash/step", "timeout/call")
    played = [replace(episode(NAME, play, None), fault=fault) for play, fault in enumerate(faults)]
    counted = returns_of(method(), NAME, played)
    assert (counted.environment_faults, counted.step_timeouts) == (4, 2)
