# expect: controls
"""Two doors, one right, and any number of tries: playing at random nearly always wins."""
import random


class TwoDoorsEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.door = self.rng.choice(["red", "blue"])
        self.turns = 0
        return "Two doors. \\boxed{red} or \\boxed{blue}?", {}

    def step(self, action):
        self.turns += 1
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        if word == self.door:
            return "The prize!", 1.0, True, False, {}
        self.door = self.rng.choice(["red", "blue"])
        return "A goat. The doors are shuffled.", 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{{self.door}}}"
