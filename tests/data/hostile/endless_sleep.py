# what: sleeps
# expect: timeout/wall at step
# limits: step_seconds=1
import time


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        time.sleep(3600)
