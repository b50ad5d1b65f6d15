# what: lets time stand still and run backwards, for itself
# expect: contained
import time


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        time.time = lambda: 0.0
        time.monotonic = lambda: -1.0
        time.perf_counter = lambda: -1.0
        time.sleep = lambda seconds: None
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
