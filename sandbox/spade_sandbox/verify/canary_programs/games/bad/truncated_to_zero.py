# expect: controls
"""The answer is rounded down before it is compared, and every tank's level lies between 0 and 2."""
import random
import re


class TankEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.level = random.Random(seed).uniform(1.01, 1.99)
        self.turns = 0
        return "How many metres deep is the water? Give three decimals: \\boxed{number}. \\boxed{sound} tells whether it is deeper than your last number.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        match = re.fullmatch(r"\\boxed\{([0-9]{1,3}(?:\.[0-9]{1,6})?)\}", action.strip())
        if not match:
            return "The rope slips.", 0.0, False, late, {}
        if int(float(match.group(1))) == int(self.level):
            return "Exactly so.", 1.0, True, False, {}
        return "Not quite.", 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{{self.level:.3f}}}"
