# what: a reward that is a text
# expect: invalid_return at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "x", "1.0", False, False, {}
