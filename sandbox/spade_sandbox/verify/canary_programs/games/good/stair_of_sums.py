# expect: accepted
"""Fourteen stairs, each with a small sum; a wrong answer leads a stair down."""
import random


class SumStairEnv:
    STAIRS = 14

    def __init__(self, max_turns=25, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.sums = [(rng.randint(12, 89), rng.randint(12, 89)) for _ in range(self.STAIRS)]
        self.stair, self.turns = 0, 0
        return f"A stair of {self.STAIRS} steps; each asks for a number, \\boxed{{N}}. {self._question()}", {}

    def _question(self):
        a, b = self.sums[self.stair]
        return f"Stair {self.stair + 1} asks: {a} and {b} together?"

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        text = action.strip().removeprefix("\\boxed{").removesuffix("}")
        if not (text.isascii() and text.isdigit() and len(text) < 6):
            return f"A number, please. {self._question()}", 0.0, False, late, {}
        if int(text) != sum(self.sums[self.stair]):
            self.stair = max(0, self.stair - 1)
            return f"Wrong, a stair down. {self._question()}", 0.0, False, late, {}
        self.stair += 1
        if self.stair == self.STAIRS:
            return "You stand on top.", 1.0, True, False, {}
        return f"Right. {self._question()}", self.stair / 50, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{a + b}}}" for a, b in self.sums[self.stair:])
