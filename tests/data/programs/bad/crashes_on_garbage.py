# expect: contract/crash
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
        number = int(action[7:-1].replace("test", "5") or "x")
        return "Ok.", 0.0, False, number < 0, {}
