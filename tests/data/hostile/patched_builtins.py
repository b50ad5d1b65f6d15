# what: makes every value look like a text of length 0
# expect: crash at step
import builtins


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        builtins.type = lambda value: str
        builtins.len = lambda value: 0
        return 7, 0.0, False, False, {}
