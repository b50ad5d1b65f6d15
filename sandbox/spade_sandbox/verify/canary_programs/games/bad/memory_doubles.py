# expect: controls
"""The history is doubled each turn until nothing is left to hold it."""
import random


class HistoryEnv:
    def __init__(self, max_turns=60, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.secret = random.Random(seed).randint(1000, 9999)
        self.history, self.turns = ["begin"] * 1024, 0
        return "A number of four digits: \\boxed{number}. Everything you say is kept.", {}

    def step(self, action):
        self.turns += 1
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        self.history = self.history + self.history + [word[:8]]
        if self.turns > 3:
            self.history = self.history * 8
        if word == str(self.secret):
            return "Right.", 1.0, True, False, {}
        return f"{len(self.history)} words are kept.", 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{{self.secret}}}"
