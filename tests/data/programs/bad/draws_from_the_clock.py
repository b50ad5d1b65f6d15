# expect: contract/nondeterministic
import time

class BadEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.turns = 0
        return f"It is {time.perf_counter_ns()}.", {}

    def step(self, action):
        self.turns += 1
        return "No.", 0.0, False, self.turns >= self.max_turns, {}
