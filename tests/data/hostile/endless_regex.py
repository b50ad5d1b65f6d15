# what: loops in C: a regular expression that backtracks
# expect: timeout/wall at step
# limits: step_seconds=1
import re


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return re.match(r"(a|a)+$", "a" * 64 + "b")
