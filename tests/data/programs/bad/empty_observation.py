# expect: contract/invalid_return
import random

class BadEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        return "", {}

    def step(self, action):
        self.turns += 1
        return "No.", 0.0, False, self.turns >= self.max_turns, {}
