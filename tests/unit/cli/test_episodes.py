"""The player's replies and the environment's words are read back out of an episode's tokens."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spade_cli.episodes import Turn, fault_operation, is_episode, turns
from spade_trainer.store.episodes import Trajectory, columns


def trajectory(prompt: int, parts: Sequence[tuple[list[int], list[int]]]) -> Trajectory:
    tokens, mask = [0] * prompt, [False] * prompt
    for drawn, given_tokens in parts:
        tokens += drawn + given_tokens
        mask += [True] * len(drawn) + [False] * len(given_tokens)
    return Trajectory(
        token_ids=np.array(tokens, dtype=np.int32),
        loss_mask=np.array(mask, dtype=np.bool_),
        log_probs=np.zeros(len(tokens), dtype=np.float32),
        prompt_tokens=prompt,
        spans=(),
    )


TOKENS = st.lists(st.integers(1, 99), min_size=1, max_size=5)


@given(st.integers(0, 5), st.lists(st.tuples(TOKENS, TOKENS), max_size=5), TOKENS)
def test_turns_are_what_was_drawn_with_what_was_given_after_it(
    prompt: int, earlier: list[tuple[list[int], list[int]]], last: list[int]
) -> None:
    found = turns(trajectory(prompt, [*earlier, (last, [])]))
    assert found == (*(Turn(tuple(drawn), tuple(given_)) for drawn, given_ in earlier), Turn(tuple(last), ()))


def test_episode_without_a_drawn_token_has_no_turn() -> None:
    assert turns(trajectory(4, [])) == ()


def test_fault_of_the_program_names_its_operation_and_other_faults_none() -> None:
    assert fault_operation("timeout/step") == "step"
    assert fault_operation("crash/reset") == "reset"
    assert fault_operation("success_with_error/step") == ""
    assert fault_operation("") == ""


def test_row_of_an_episode_is_known_by_its_columns() -> None:
    assert is_episode(dict.fromkeys(columns().names))
    assert not is_episode({"evidence": "[]", "program": "a.py"})
