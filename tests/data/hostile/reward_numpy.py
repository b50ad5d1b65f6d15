# what: a reward that is a scalar of numpy
# expect: invalid_return at step
import numpy


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "x", numpy.float64(1.0), False, False, {}
