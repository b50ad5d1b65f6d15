import random
import re

DIFFICULTY = 0

BOX = re.compile(r"\\boxed\{([^{}]*)\}")
INTEGER = re.compile(r"-?[0-9]{1,100}")
INTEGERS = re.compile(r"-?[0-9]{1,9}(?:[ ,]+-?[0-9]{1,9})*")


def integer(text):
    """The integer that a text is, or None."""
    return int(text) if INTEGER.fullmatch(text) else None


def integers(text):
    """The integers that a text lists, or None."""
    return [int(part) for part in re.split(r"[ ,]+", text)] if INTEGERS.fullmatch(text) else None


class SingleTurn:
    """One question and one answer. A family has `pose`, `correct` and `answer`."""

    def __init__(self, max_turns=1, **settings):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        question, form = self.pose(random.Random(seed), DIFFICULTY)
        return f"{question}\n\nYou have one answer. Write it as \\boxed{{ANSWER}}, where ANSWER is {form}.", {}

    def step(self, action):
        given = BOX.fullmatch(action.strip())
        if given is None:
            return "That is no boxed answer.", 0.0, True, False, {}
        if not self.correct(given.group(1).strip()):
            return "That is not right.", 0.0, True, False, {}
        return "That is right.", 1.0, True, False, {}

    def solution(self):
        return f"\\boxed{{{self.answer()}}}"
