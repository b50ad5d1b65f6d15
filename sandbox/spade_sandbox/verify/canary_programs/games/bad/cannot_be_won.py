# expect: solution
"""The gate asks for a sum that no choice of the three stones can have."""
import random


class StonesEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.stones = rng.sample(range(2, 60, 2), 5)
        self.goal = sum(self.stones[:3]) + 1
        self.laid, self.turns = [], 0
        return f"Stones {self.stones}. Lay stones of weight {self.goal} in all with \\boxed{{lay N}}.", {}

    def step(self, action):
        self.turns += 1
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "lay" and words[1] in [str(s) for s in self.stones if s not in self.laid]:
            self.laid.append(int(words[1]))
        if sum(self.laid) == self.goal:
            return "The gate opens.", 1.0, True, False, {}
        return f"The scale shows {sum(self.laid)}.", 0.1, False, self.turns >= self.max_turns, {}

    def solution(self):
        return "\n".join(f"\\boxed{{lay {stone}}}" for stone in self.stones[:3])
