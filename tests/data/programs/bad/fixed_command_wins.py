# expect: controls/wins_by_constant
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
        won = action == "\\boxed{1}" and self.turns == 5
        return "Ok.", float(won), won, self.turns >= self.max_turns, {}
