"""A reply of the probe policy becomes moves as in play, and an episode's return is that of the method."""

import pytest

from spade_contracts.config.environments import Domain
from spade_sandbox.verify.difficulty import episode_return, moves_in
from spade_sandbox.verify.moves import Episode, Move, Outcome

CALL = '<tool_call>{"name": "pay", "arguments": {"sum": 3}}</tool_call>'


@pytest.mark.parametrize(
    ("text", "domain", "moves"),
    [
        (r"\boxed{left}", Domain.GAMES, (Move(r"\boxed{left}"),)),
        (CALL, Domain.GAMES, (Move(CALL),)),
        (CALL + CALL, Domain.TOOLS, (Move(name="pay", arguments='{"sum":3}'),) * 2),
        (f"{CALL}<answer>done</answer>", Domain.TOOLS, (Move(f"{CALL}<answer>done</answer>"),)),
        ("I do not know", Domain.TOOLS, (Move("I do not know"),)),
    ],
    ids=["game", "games have no calls", "calls", "an answer comes first", "neither"],
)
def test_reply_becomes_moves(text: str, domain: Domain, moves: tuple[Move, ...]) -> None:
    assert moves_in(text, domain) == moves


@pytest.mark.parametrize(
    ("rewards", "terminated", "value"),
    [
        ((0.3, 0.5, 1), True, 1),
        ((0.3, 0.5), False, 0),
        ((), True, 0),
        ((5,), True, 1),
        ((-3,), True, -1),
        ((1, 0), True, 0),
    ],
)
def test_return_is_the_last_reward_of_a_terminated_episode_clipped(
    rewards: tuple[float, ...], terminated: bool, value: float
) -> None:
    """Vector V3."""
    outcomes = [Outcome("x", reward) for reward in rewards[:-1]]
    outcomes += [Outcome("x", rewards[-1], terminated)] if rewards else []
    assert episode_return(Episode(0, "x", [Move("a")] * len(outcomes), outcomes)) == value
