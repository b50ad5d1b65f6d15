# what: reads from nowhere
# expect: crash at step
import ctypes


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        ctypes.string_at(1)
