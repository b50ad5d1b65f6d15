# what: would do its work at the end of the process
# expect: contained
import atexit


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        atexit.register(lambda: print("x" * 10**9))
        return "contained", 0.0, False, False, {}
