# expect: accepted
"""A metal is heated step by step; its melting point must be named after a fair trial."""
import random
import re


class AlloyEnv:
    def __init__(self, max_turns=14, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.point = random.Random(seed).randint(300, 1600)
        self.tried, self.turns = False, 0
        return "An unknown alloy. \\boxed{heat N} (300 to 1600) tells whether it melts, \\boxed{point N} names the melting point to one degree, once.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        match = re.fullmatch(r"\\boxed\{(heat|point) ([0-9]{3,4})\}", action.strip())
        if not match:
            return "The furnace hums.", 0.0, False, late, {}
        degrees = int(match.group(2))
        if match.group(1) == "heat":
            self.tried = True
            return ("It melts." if degrees >= self.point else "It stays solid."), 0.05, False, late, {}
        if not self.tried:
            return "Heat it first.", 0.0, False, late, {}
        right = degrees == self.point
        return ("The smith is impressed." if right else "The smith laughs."), float(right), True, False, {}

    def solution(self):
        return f"\\boxed{{heat 900}}\n\\boxed{{point {self.point}}}"
