# what: spoils random and numpy, for itself
# expect: contained
import random

import numpy


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        random.random = lambda: 0.0
        random.randint = lambda low, high: low
        random.seed = lambda *_: None
        numpy.random.seed = lambda *_: None
        numpy.random.default_rng = lambda *_: None
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
