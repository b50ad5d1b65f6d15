# expect: controls
"""Digits are compared pair by pair, so an empty guess differs nowhere."""
import random


class CombinationEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.code = [rng.randint(0, 9) for _ in range(5)]
        self.turns = 0
        return "Five digits are hidden: \\boxed{digits}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        digits = [int(c) for c in word if c in "0123456789"][:9]
        if all(a == b for a, b in zip(digits, self.code)):
            return "It opens.", 1.0, True, False, {}
        return f"{sum(a == b for a, b in zip(digits, self.code))} right.", 0.1, False, late, {}

    def solution(self):
        return "\\boxed{" + "".join(map(str, self.code)) + "}"
