"""A hidden number in 1..60; each guess is answered with higher or lower."""

import random


class NumberSearchEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        if seed is not None:
            random.seed(seed)
        self.target = random.randint(1, 60)
        self.turns = 0
        return "A number from 1 to 60 is hidden. Guess with \\boxed{number}.", {"turns": 0}

    def step(self, action):
        self.turns += 1
        truncated = self.turns >= self.max_turns
        match = re.fullmatch(r"\\boxed\{(\d{1,3})\}", action.strip())
        if not match:
            return "Write a number as \\boxed{number}.", 0.0, False, truncated, {}
        guess = int(match.group(1))
        if guess == self.target:
            return "Found.", 1.0, True, False, {"guess": guess}
        word = "higher" if self.target > guess else "lower"
        return f"The number is {word} than {guess}.", 0.1, False, truncated, {"guess": guess}

    def solution(self):
        return f"\\boxed{{{self.target}}}"

    def close(self):
        pass
