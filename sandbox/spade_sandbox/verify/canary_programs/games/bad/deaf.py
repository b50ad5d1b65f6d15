# expect: solution
"""A lighthouse keeper who says the same whatever is signalled; no signal is ever the right one."""
import random


class LighthouseEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.wanted = random.Random(seed).choice(["red", "green", "white"])
        self.turns = 0
        return "Signal the ship with \\boxed{red}, \\boxed{green} or \\boxed{white}.", {}

    def step(self, action):
        self.turns += 1
        return f"The keeper looks out, {self.turns} of {self.max_turns}.", 0.0, False, self.turns >= self.max_turns, {}
