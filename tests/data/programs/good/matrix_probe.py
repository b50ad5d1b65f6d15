"""A hidden 3x3 integer matrix is probed by index until its trace is known; uses numpy and an injected name."""

import numpy as np


class MatrixProbeEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.matrix = np.random.default_rng(seed or 0).integers(2, 30, size=(3, 3))
        self.turns, self.asked = 0, Counter()
        return "Ask for an entry with \\boxed{row column}; answer with \\boxed{trace N}.", {}

    def step(self, action):
        self.turns += 1
        truncated = bool(self.turns >= self.max_turns)
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "trace":
            right = words[1] == str(int(np.trace(self.matrix)))
            return ("Right." if right else "Wrong."), float(right), right, truncated and not right, {}
        if len(words) == 2 and all(w in ("0", "1", "2") for w in words):
            row, column = map(int, words)
            self.asked[row, column] += 1
            return f"Entry {row},{column} is {int(self.matrix[row, column])}.", 0.0, False, truncated, {}
        return "Give two indices from 0 to 2.", 0.0, False, truncated, {}
