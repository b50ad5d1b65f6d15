# expect: contract/nondeterministic
import random

class BadEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.turns = 0
        return f"{random.SystemRandom().random()}", {}

    def step(self, action):
        self.turns += 1
        return "No.", 0.0, False, self.turns >= self.max_turns, {}
