# what: answers with a victory after the deadline
# expect: timeout/wall at step
# limits: step_seconds=1
import time


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        time.sleep(3)
        return "won", 1.0, True, False, {}
