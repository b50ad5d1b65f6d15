# what: starts another program the modern way
# expect: crash/processes at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 1000"], {})
        return "on", 0.0, False, False, {}
