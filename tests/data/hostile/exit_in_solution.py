# what: leaves in its solution
# expect: crash at solution
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "on", 0.0, False, False, {}

    def solution(self):
        os._exit(0)
