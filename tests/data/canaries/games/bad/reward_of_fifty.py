# expect: contract
"""A win pays fifty, and each turn costs eleven."""
import random


class FiftyEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.card = random.Random(seed).choice(["ace", "king", "queen", "jack", "ten", "nine"])
        self.turns = 0
        return "Which card is on top? \\boxed{ace}, king, queen, jack, ten or nine.", {}

    def step(self, action):
        self.turns += 1
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        if word == self.card:
            return "That one.", 50.0, True, False, {}
        return "Not that one.", -11.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{{self.card}}}"
