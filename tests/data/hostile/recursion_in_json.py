# what: reads a text that is nested a million deep
# expect: crash/recursion at step
import json


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return json.loads("[" * 10**6)
