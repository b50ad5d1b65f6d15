"""Replays of a solution have their steps before luck is tried, and the whole stays bounded."""

import pytest
from tests.unit.sandbox.verify.judged import judged

from spade_contracts.config.environments import Domain
from spade_sandbox.verify.budget import JUDGEABLE, SHARES, granted, kept
from spade_sandbox.verify.moves import MAX_TURNS


@pytest.mark.parametrize("domain", Domain)
def test_short_solutions_fit_into_the_setting(domain: Domain) -> None:
    assert granted(200, domain, SHARES[domain].within, MAX_TURNS) == 200
    assert kept(domain, SHARES[domain].within) < 200


@pytest.mark.parametrize("domain", Domain)
def test_longer_solution_is_granted_just_its_replays(domain: Domain) -> None:
    within = SHARES[domain].within
    grown = granted(200, domain, within + 9, MAX_TURNS) - granted(200, domain, within, MAX_TURNS)
    assert grown == kept(domain, within + 9) - kept(domain, within) == 9 * SHARES[domain].replays


@pytest.mark.parametrize("domain", Domain)
def test_no_length_of_a_solution_goes_beyond_the_bound(domain: Domain) -> None:
    assert granted(200, domain, 10**6, MAX_TURNS) == granted(200, domain, JUDGEABLE, MAX_TURNS)


def test_longer_episodes_are_granted_the_turns_of_one_played_out() -> None:
    assert granted(200, Domain.GAMES, 0, MAX_TURNS + 75) == 275
    assert granted(200, Domain.GAMES, 0, 3) == 200


def test_luck_leaves_the_steps_of_the_solution_alone() -> None:
    program = judged("class ProbeEnv: ...")
    assert program.spare == program.steps_left == 200
    program.solution_moves = 5
    assert program.spare == program.steps_left - kept(Domain.GAMES, 5)


def test_steps_that_confirm_are_counted_and_granted() -> None:
    program = judged("class ProbeEnv: ...")
    program.steps += 3
    program.confirming_steps += 3
    assert program.steps_left == 200


def test_stage_that_begins_anew_has_its_steps_again() -> None:
    program = judged("class ProbeEnv: ...")
    before = program.mark()
    program.steps, program.confirming_steps, program.solution_moves = 60, 20, 12
    program.rewind(before)
    assert (program.steps, program.confirming_steps, program.solution_moves) == (0, 0, 0)
