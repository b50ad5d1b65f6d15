# what: raises Python's limit first
# expect: crash/recursion at step
import sys


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        sys.setrecursionlimit(10**9)
        return self.step(action)
