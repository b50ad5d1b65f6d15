# expect: controls/wins_by_null
import random

class BadEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.turns = 0
        return "Say \\boxed{go}.", {}

    def step(self, action):
        self.turns += 1
        won = self.turns > 3 and bool(action)
        return "Ok.", float(won), won, False, {}
