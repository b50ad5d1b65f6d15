# expect: contract
"""Terminated is a numpy truth value, which no reader of JSON expects."""
import numpy as np


class NumpyTruthEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = np.random.default_rng(0 if seed is None else seed)
        self.row = rng.integers(0, 50, size=6)
        self.turns = 0
        return "Six hidden numbers. \\boxed{ask N} (0 to 5), \\boxed{sum N}.", {}

    def step(self, action):
        self.turns += 1
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "ask" and words[1] in tuple("012345"):
            return str(self.row[int(words[1])]), 0.1, False, self.turns >= self.max_turns, {}
        given = int(words[1]) if len(words) == 2 and words[1].isdecimal() and len(words[1]) < 5 else -1
        won = self.row.sum() == given
        return ("Yes." if won else "No."), float(won), won, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{ask 0}}\n\\boxed{{sum {int(self.row.sum())}}}"
