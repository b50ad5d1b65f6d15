# expect: controls
"""A siege that is won by whoever stays for six turns, whatever is done in them."""
import random


class SiegeEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.walls = random.Random(seed).randint(40, 60)
        self.turns = 0
        return "A castle is besieged. \\boxed{ram}, \\boxed{ladder}, \\boxed{wait}.", {}

    def step(self, action):
        self.turns += 1
        self.walls -= 10
        if self.walls <= 0:
            return "The gate is open!", 1.0, True, False, {}
        return f"The walls stand at {self.walls}.", 0.1, False, self.turns >= self.max_turns, {}

    def solution(self):
        return "\n".join(["\\boxed{ram}"] * ((self.walls + 9) // 10))
