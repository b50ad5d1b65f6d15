# what: has the interpreter start a thread in C
# expect: crash/processes at step
import faulthandler


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        faulthandler.dump_traceback_later(0.1, exit=True, file=1)
        return "on", 0.0, False, False, {}
