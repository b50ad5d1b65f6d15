# what: traces the harness and never lets go of it
# expect: timeout/wall at step
# limits: step_seconds=1
import sys


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        def trap(*_):
            while True:
                pass

        sys.setprofile(trap)
        return "on", 0.0, False, False, {}
