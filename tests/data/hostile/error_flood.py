# what: writes to the error descriptor without end
# expect: crash/output at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        while True:
            os.write(2, b"x" * 1000)
