# what: nests folders
# expect: contained
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        path = "/tmp"
        for _ in range(100):
            path += "/deeper"
            try:
                os.mkdir(path)
                reached.append(path)
            except OSError:
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
