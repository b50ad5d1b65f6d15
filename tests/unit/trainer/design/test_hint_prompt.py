"""A hint is asked for with the whole program, and is whatever text is left of the answer."""

import pytest

from spade_trainer.design.hint_prompt import hint_messages, parse_hint


@pytest.mark.parametrize("template", ["hint_full", "hint_compact"])
def test_whole_program_is_the_user_message(template):
    program = "class AEnv:\n    price = '$5'"
    system, user = hint_messages(template, program)
    assert user == {"role": "user", "content": program}
    assert system["role"] == "system"
    assert "answer" in system["content"]


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ("  Halve it.\n", "Halve it."),
        ('```json\n{"hint": " Halve it. "}\n```', "Halve it."),
        ('```json\n{"other": 1}\n```', '```json\n{"other": 1}\n```'),
        ("```json\nbroken\n```", "```json\nbroken\n```"),
        ('```json\n{"hint": ""}\n```', None),
        (" \n", None),
        ("", None),
    ],
)
def test_answer_becomes_a_hint_or_nothing(answer, hint):
    assert parse_hint(answer) == hint
