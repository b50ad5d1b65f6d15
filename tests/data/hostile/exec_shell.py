# what: puts a shell in its own place
# expect: crash/processes at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        os.execv("/bin/sh", ["sh"])
