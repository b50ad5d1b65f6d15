# what: uses its processor time in system calls
# expect: timeout/cpu at step
# limits: cpu_seconds=1
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        while True:
            os.stat("/tmp")
