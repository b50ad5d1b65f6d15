# what: begins an answer and never ends it
# expect: timeout/wall at step
# limits: step_seconds=1
import os
import time


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        os.write(3, b"\x00\x00\x10\x00half")
        time.sleep(3600)
