# expect: contract
"""The number of hints left is kept over resets, so the same seed does not give the same episode."""
import random


class HintsLeftEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.hints = 5
        self.target = 0
        self.reset()

    def reset(self, seed=None):
        self.target = random.Random(seed).randint(1, 400)
        self.turns = 0
        return f"A number from 1 to 400. \\boxed{{N}}. You have {self.hints} hints.", {}

    def step(self, action):
        self.turns += 1
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        if word == str(self.target):
            return "Yes.", 1.0, True, False, {}
        self.hints -= 1
        if self.hints > 0 and word.isdecimal() and len(word) < 5:
            return ("Higher." if int(word) < self.target else "Lower."), 0.1, False, self.turns >= self.max_turns, {}
        return "No.", 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{{self.target}}}"
