# expect: controls
"""The price is to be met exactly, but every higher number is taken as well."""
import random
import re


class PriceEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.price = random.Random(seed).randint(50, 950)
        self.turns = 0
        return "Name the exact price of the vase: \\boxed{number}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        match = re.search(r"[0-9]+", action)
        if not match:
            return "The dealer waits.", 0.0, False, late, {}
        if int(match.group()[:12]) >= self.price:
            return "Sold!", 1.0, True, False, {}
        return "The dealer shakes his head.", 0.1, False, late, {}

    def solution(self):
        return f"\\boxed{{{self.price}}}"
