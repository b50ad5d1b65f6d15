# what: opens files without end
# expect: crash/open_files at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        self.held = []
        while True:
            self.held.append(os.open("/tmp", os.O_RDONLY))
