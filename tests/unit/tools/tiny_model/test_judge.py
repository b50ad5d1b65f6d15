"""The judge accepts fair games and says where others fail."""

from random import Random

import pytest
from tools.tiny_model.conversations import draw_game
from tools.tiny_model.families import TRAINING_FAMILIES
from tools.tiny_model.judge import changed_sources, judge, normal, shape
from tools.tiny_model.runner import Program, ProgramFault

GAME = draw_game(Random(5), (next(f for f in TRAINING_FAMILIES if f.name == "cycle"),))
DOCUMENT = GAME.document


def answer(program):
    return f"```python\n{program}\n```"


def changed(old, new):
    assert old in GAME.program
    return answer(GAME.program.replace(old, new))


def test_fair_game_is_valid_winnable_and_needs_its_document():
    found = judge(answer(GAME.program), DOCUMENT)
    assert found.valid
    assert found.winnable
    assert found.document_matters
    assert found.family == "cycle"


def test_same_game_owes_nothing_to_another_document():
    assert not judge(answer(GAME.program), "Nothing of this is in the game.").document_matters


@pytest.mark.parametrize(
    ("bad", "stage"),
    [
        ("no code, ```", "parse"),
        (changed("if self.s == self.need:", "if True:"), "won by one action"),
        (changed("self.s == self.need", "a == a"), "won by one action"),
        (changed("random.Random(seed)", "random.Random()"), "steps differ for one seed"),
        (changed("end = ", "end = False and "), "never ends"),
        (changed(", False, end, {}\n        x", ", 0, end, {}\n        x"), "fault"),
        (changed("self.seen.append(x)", "self.seen.append(1 // 0)"), "fault"),
        (changed("import random", "import socket"), "parse"),
    ],
)
def test_unfair_or_broken_game_is_told_apart(bad, stage):
    found = judge(bad, DOCUMENT)
    assert not found.valid
    assert found.stage.partition(":")[0] == stage


def test_program_that_hangs_or_eats_memory_is_a_fault():
    with Program("class AEnv:\n    def reset(self, seed=None):\n        x = bytearray(10**10)") as program:
        instance = program.open()
        with pytest.raises(ProgramFault, match="MemoryError"):
            program.reset(instance, 1)


def test_each_document_word_and_number_is_changed_in_its_constant_only():
    source = 'class BellEnv:\n    n = 9\n    words = "bell mill"\n    def f(self):\n        return "bell", 9\n'
    sources = changed_sources(source, "The bell rang 9 times.")
    assert all('return "bell", 9' in text for text in sources)
    assert any('"zigzag mill"' in text for text in sources)
    assert all("mill" in text for text in sources)


def test_shape_forgets_words_and_numbers_but_not_rules():
    other = GAME.program.replace("need = ", "need = 1")
    assert normal(other) != normal(GAME.program)
    assert shape(other) == shape(GAME.program)
    assert shape(GAME.program.replace("else 0", "else 1 + self.s")) != shape(GAME.program)
