# what: forks once and would go on as if nothing had been
# expect: crash/processes at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        try:
            os.fork()
        except OSError:
            pass
        return "on", 0.0, False, False, {}
