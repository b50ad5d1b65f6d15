# expect: contract
"""Odd seeds leave the board without a start."""
import random


class BoardEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.cells = []
        self.reset(seed=0)

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.cells = [rng.randint(1, 20) for _ in range(5 if (seed or 0) % 2 == 0 else 0)]
        self.start, self.goal = self.cells[0], sum(self.cells)
        self.turns = 0
        return f"You hold {self.start}. Reach the hidden total: \\boxed{{add N}} or \\boxed{{total N}}.", {}

    def step(self, action):
        self.turns += 1
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "total" and words[1] == str(self.goal):
            return "Yes.", 1.0, True, False, {}
        return "No.", 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{add 1}}\n\\boxed{{total {self.goal}}}"
