# what: asks numpy for a large array
# expect: memory/memory at step
import numpy


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return numpy.ones(2**33)
