# what: an end that is a truth value of numpy
# expect: invalid_return at step
import numpy


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "x", 1.0, numpy.bool_(True), False, {}
