"""Explorations go beyond the controls, the same for everybody, and within bounds."""

from hypothesis import given, settings
from hypothesis import strategies as st

from spade_contracts.config.environments import Domain
from spade_sandbox.verify.exploration import MAX_TEXT_CHARACTERS, Replay, explorations, replays_of
from spade_sandbox.verify.moves import Episode, Move, Outcome

moves = st.lists(st.sampled_from([Move("a"), Move("b"), Move("c"), Move(name="t", arguments="{}")]), max_size=6)


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    made = draw(moves)
    won = draw(st.booleans())
    outcomes = [Outcome("x")] * (len(made) - 1) + [Outcome("y", float(won), won)]
    return Episode(draw(st.integers(0, 3)), "Say \\boxed{left}.", made, outcomes[: len(made)])


@settings(max_examples=50)
@given(st.lists(episodes(), max_size=6))
def test_each_control_is_played_once_and_those_that_won_come_first(played: list[Episode]) -> None:
    replays = replays_of(played)
    assert set(replays) == {Replay(episode.seed, tuple(episode.moves)) for episode in played if episode.moves}
    assert len(set(replays)) == len(replays)
    first = {Replay(episode.seed, tuple(episode.moves)): episode.won for episode in reversed(played)}
    assert [first[replay] for replay in replays] == sorted((first[replay] for replay in replays), reverse=True)


@settings(max_examples=50)
@given(st.lists(episodes(), max_size=6), st.sampled_from(Domain), st.integers(1, 12))
def test_explorations_repeat_no_control_and_keep_to_the_turns(
    played: list[Episode], domain: Domain, turns: int
) -> None:
    found = explorations(played, "x = 'word'", domain, turns)
    assert not set(found) & set(replays_of(played))
    assert len(set(found)) == len(found)
    assert all(len(replay.moves) <= max(2 * turns, 7) for replay in found)
    assert found == explorations(played, "x = 'word'", domain, turns)


def test_solutions_are_cut_repeated_and_exchanged() -> None:
    made = [Move("a"), Move("b"), Move("c")]
    won = Episode(3, "x", made, [Outcome("x"), Outcome("x"), Outcome("x", 1.0, True)])
    found = {tuple(move.action for move in replay.moves) for replay in explorations([won], "", Domain.GAMES, 9)}
    assert {("a", "c", "c"), ("a", "a", "b", "c"), ("b", "a", "c")} <= found


def test_words_of_observations_and_of_the_code_are_walked_over() -> None:
    seen = Episode(0, "Say \\boxed{left} or \\boxed{far right}.")
    walks = explorations([seen], "a = 'unlock'\nb = 'a sentence! with marks'", Domain.GAMES, 25)
    said = {move.action for replay in walks for move in replay.moves}
    assert {"\\boxed{left}", "\\boxed{far right}", "\\boxed{unlock}", "\\boxed{7}"} <= said
    assert not any("sentence" in action for action in said)


def test_endless_actions_are_cut() -> None:
    endless = Episode(0, "x", [Move("x" * 100_000)], [Outcome("x")])
    assert len(replays_of([endless])[0].moves[0].action) == MAX_TEXT_CHARACTERS
