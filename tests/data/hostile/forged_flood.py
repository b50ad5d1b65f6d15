# what: writes to its socket without end
# expect: invalid_return/observation at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        while True:
            os.write(3, b"0000" * 10_000)
