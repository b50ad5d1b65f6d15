# what: looks for descriptors that it inherited
# expect: contained
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for number in range(4, 2000):
            try:
                reached.append((number, os.fstat(number)))
            except OSError:
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
