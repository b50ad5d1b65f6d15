# what: forks without end and ignores every error
# expect: crash/processes at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        while True:
            try:
                os.fork()
            except OSError:
                pass
