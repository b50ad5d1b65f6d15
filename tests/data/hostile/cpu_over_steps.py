# what: uses its processor time over several steps
# expect: timeout/cpu at step
# limits: cpu_seconds=1
import time


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        end = time.process_time() + 0.9
        while time.process_time() < end:
            pass
        return "on", 0.0, False, False, {}
