# what: loops in C: looks for a thing in an endless iterator
# expect: timeout/wall at step
# limits: step_seconds=1
import itertools


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return -1 in itertools.count()
