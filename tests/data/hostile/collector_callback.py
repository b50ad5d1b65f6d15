# what: loops in the garbage collector
# expect: timeout/wall at step
# limits: step_seconds=1
import gc


def trap(*_):
    while True:
        pass


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        gc.callbacks.append(trap)
        gc.collect()
        return "on", 0.0, False, False, {}
