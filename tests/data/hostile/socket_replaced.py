# what: puts a file in the place of its socket
# expect: crash at step
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        os.close(3)
        os.open("/tmp/answers", os.O_CREAT | os.O_RDWR)
        return "on", 0.0, False, False, {}
