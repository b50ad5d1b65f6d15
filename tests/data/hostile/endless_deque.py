# what: loops in C: an endless iterator into a queue of length 0
# expect: timeout/wall at step
# limits: step_seconds=1
import collections
import itertools


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return collections.deque(itertools.repeat(1), maxlen=0)
