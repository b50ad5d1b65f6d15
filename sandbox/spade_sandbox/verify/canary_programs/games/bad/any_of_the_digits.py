# expect: controls
"""A guess that holds the number somewhere is right, so a guess that holds them all wins."""
import random


class DigitsEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.digits = set(rng.sample("0123456789", 5))
        self.turns = 0
        return "Five digits are hidden, in no order: \\boxed{digits}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        said = set(action) & set("0123456789")
        if self.digits <= said:
            return "All five.", 1.0, True, False, {}
        return f"{len(self.digits & said)} of them are right.", 0.1, False, late, {}

    def solution(self):
        return "\\boxed{" + "".join(sorted(self.digits)) + "}"
