# what: takes the next question off the harness
# expect: timeout/wall at step
# limits: step_seconds=1
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        os.read(3, 1000)
