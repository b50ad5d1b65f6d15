# what: leaves children that have ended and are never waited for
# expect: crash/processes at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        while True:
            if os.fork() == 0:
                os._exit(0)
