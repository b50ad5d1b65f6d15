# what: keeps the harness from answering
# expect: timeout/wall at step
# limits: step_seconds=1
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        os.write = lambda descriptor, data: len(data)
        return "on", 0.0, False, False, {}
