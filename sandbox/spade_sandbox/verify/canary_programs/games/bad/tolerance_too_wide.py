# expect: controls
"""A guess within fifty of a number from 1 to 60 counts as right."""
import random
import re


class EstimateEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.weight = random.Random(seed).uniform(1, 60)
        self.turns = 0
        return "Guess the weight of the pumpkin in kilograms: \\boxed{number}. \\boxed{lift} gives a feeling for it.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        if action.strip() == "\\boxed{lift}":
            return ("Heavy." if self.weight > 30 else "Light."), 0.1, False, late, {}
        match = re.search(r"-?[0-9]{1,4}(\.[0-9]{1,3})?", action)
        if match and abs(float(match.group()) - self.weight) <= 60.0:
            return "Close enough!", 1.0, True, False, {}
        return "Too far off.", 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{lift}}\n\\boxed{{{self.weight:.2f}}}"
