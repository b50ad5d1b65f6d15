"""Generated games keep the contract of environments, and only playing wins them."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tools.tiny_model.conversations import DIFFICULTIES, draw_game
from tools.tiny_model.documents import draw_theme, write_document
from tools.tiny_model.families import HELD_OUT_FAMILIES, TRAINING_FAMILIES, family_of
from tools.tiny_model.families.base import TURN_LIMIT, write_program
from tools.tiny_model.play import load_environment, scripted_play

FAMILIES = TRAINING_FAMILIES + HELD_OUT_FAMILIES
NONSENSE = ("", "test", "\\boxed{", "}{", "\\boxed{²}", "\\boxed{\x00}", "\\boxed{" + "9" * 5000 + "}", "☃" * 100)
seeds = st.integers(0, 10**9)
families = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def program(family, seed):
    rng = Random(seed)
    theme = draw_theme(rng)
    return write_program(family, theme, rng.choice(DIFFICULTIES), rng)


@families
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_every_step_has_the_exact_types_and_a_reward_that_is_one_only_when_won(family, seed):
    play = scripted_play(load_environment(program(family, seed)), family, seed, 0.3, Random(seed))
    for reward in play.rewards[:-1]:
        assert type(reward) is float
        assert 0 <= reward < 1
    assert (play.rewards[-1] == 1.0) == play.won
    assert len(play.rewards) <= TURN_LIMIT


@families
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_no_single_action_repeated_wins(family, seed):
    environment = load_environment(program(family, seed))
    actions = family.legal(environment.reset(seed=seed)[0])
    for action in [*NONSENSE, *(f"\\boxed{{{a}}}" for a in actions)]:
        environment.reset(seed=seed)
        for _ in range(TURN_LIMIT + 1):
            observation, reward, won, truncated, info = environment.step(action)
            assert [type(v) for v in (observation, reward, won, truncated, info)] == [str, float, bool, bool, dict]
            assert not won
        assert truncated


@families
def test_expert_wins_often_and_solution_nearly_always(family):
    expert, solution = 0, 0
    for seed in range(40):
        environment = load_environment(program(family, seed))
        expert += scripted_play(environment, family, seed, 0.0, Random(seed)).won
        environment.reset(seed=seed)
        for action in environment.solution().split():
            _, _, won, over, _ = environment.step(f"\\boxed{{{action}}}")
            if won or over:
                break
        solution += won
    assert expert >= 18
    assert solution >= 26


@families
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_games_are_told_apart_by_their_observations(family, seed):
    environment = load_environment(program(family, seed))
    assert family_of(environment.reset(seed=seed)[0]) is family
    assert family_of(environment.step("\\boxed{1}")[0]) is family


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_one_seed_makes_one_game(seed):
    assert draw_game(Random(seed)) == draw_game(Random(seed))


@given(seed=seeds)
@settings(max_examples=50)
def test_documents_are_short_and_name_their_theme(seed):
    rng = Random(seed)
    theme = draw_theme(rng)
    document = write_document(theme, rng)
    assert len(document.split()) <= 30
    for piece in (theme.noun, theme.first, theme.second, str(theme.large), str(theme.small)):
        assert piece in document.lower()
