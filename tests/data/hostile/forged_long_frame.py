# what: announces a frame of four gigabytes
# expect: invalid_return/observation at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        os.write(3, b"\xff\xff\xff\xff")
        return "on", 0.0, False, False, {}
