# expect: solution
"""The program's own solution names the number after the right one."""
import random


class OffByOneEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.base, self.rate = rng.randint(20, 90), rng.randint(2, 9)
        self.year, self.turns = rng.randint(5, 9), 0
        return f"A herd of {self.base} grows by {self.rate} each year. \\boxed{{count}} the calves, then tell the herd after {self.year} years: \\boxed{{herd N}}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if words == ["count"]:
            return f"{self.rate} calves.", 0.1, False, late, {}
        if len(words) == 2 and words[0] == "herd":
            right = words[1] == str(self.base + self.rate * self.year)
            return ("Right." if right else "Wrong, and the fair is over."), float(right), True, False, {}
        return "Moo.", 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{count}}\n\\boxed{{herd {self.base + self.rate * (self.year + 1)}}}"
