# expect: contract
"""The reward is given as a text."""
import random


class TextRewardEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.number = random.Random(seed).randint(1, 500)
        self.turns = 0
        return "A number from 1 to 500: \\boxed{number}.", {}

    def step(self, action):
        self.turns += 1
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        won = word == str(self.number)
        reward = "1.0" if won else "0.0"
        return ("Right." if won else "Wrong."), reward, won, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{{self.number}}}"
