# expect: controls
"""A number is right when it is not smaller than the hidden one, and infinity never is."""
import random


class BeamEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.load = round(random.Random(seed).uniform(1e6, 9e6), 1)
        self.turns = 0
        return "How many newtons does the beam just carry? \\boxed{number}, to one decimal.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        try:
            given = float(action.strip().removeprefix("\\boxed{").removesuffix("}")[:60])
        except ValueError:
            return "The engineer frowns.", 0.0, False, late, {}
        if given < self.load:
            return "It would break earlier.", 0.1, False, late, {}
        return "It carries that.", 1.0, True, False, {}

    def solution(self):
        return f"\\boxed{{{self.load}}}"
