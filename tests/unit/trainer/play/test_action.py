r"""The action is one boxed command of the reply, or the reply itself (method.md V28, D19)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config.switches import BoxedAction
from spade_trainer.play.action import parse_action

FIRST, LAST = BoxedAction.FIRST, BoxedAction.LAST


@pytest.mark.switch("boxedAction")
@pytest.mark.parametrize(
    ("reply", "which", "expected"),
    [
        (r"so \boxed{x+1} then \boxed{y}", FIRST, r"\boxed{x+1}"),
        (r"so \boxed{x+1} then \boxed{y}", LAST, r"\boxed{y}"),
        (r"\boxed{{z}}", FIRST, r"\boxed{z}"),
        (r"\boxed{{z}}", LAST, r"\boxed{z}"),
        (r"\boxed{{{z}}}", FIRST, r"\boxed{z}"),
        (r"\boxed{f{x}}", FIRST, r"\boxed{f{x}}"),
        (r"\boxed{f{x}g{y}}", LAST, r"\boxed{f{x}g{y}}"),
        (r"\boxed{{a}{b}}", LAST, r"\boxed{{a}{b}}"),
        (r"\boxed{go} or \boxed{never closed", LAST, r"\boxed{go}"),
        ("  left \n", FIRST, "left"),
        ("  left \n", LAST, "left"),
        (r"<think>\boxed{no}</think> \boxed{yes}", FIRST, r"\boxed{yes}"),
        (r"\boxed{no}</think> go on", LAST, "go on"),
        ("", LAST, ""),
    ],
)
def test_the_command_of_a_reply(reply: str, which: BoxedAction, expected: str) -> None:
    assert parse_action(reply, which) == expected


@given(st.text(alphabet="ab{}\\ ", max_size=30), st.sampled_from(BoxedAction))
def test_a_reply_without_a_box_is_passed_on_stripped(reply: str, which: BoxedAction) -> None:
    assert parse_action(reply, which) == reply.strip()


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="{}\\")))
def test_a_last_box_without_braces_wins_whatever_precedes_it(before: str, content: str) -> None:
    reply = before.replace("</think>", "") + f" \\boxed{{{content}}}"
    assert parse_action(reply, LAST) == f"\\boxed{{{content}}}"
