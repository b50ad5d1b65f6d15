# what: prints more than it may and answers at once
# expect: crash/output at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        os.write(1, b"x" * 2**17)
        return "on", 0.0, False, False, {}
