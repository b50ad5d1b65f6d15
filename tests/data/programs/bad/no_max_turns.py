# expect: contract/crash
import random


class EarlyEnv:
    def __init__(self):
        pass

    def reset(self, seed=None):
        return "x", {}

    def step(self, action):
        return "x", 0.0, False, False, {}

class BadEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.turns = 0
        return "Say \\boxed{go}.", {}

    def step(self, action):
        self.turns += 1
        return "No.", 0.0, False, self.turns >= self.max_turns, {}
