# what: returns bytes
# expect: invalid_return at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return b"x", 0.0, False, False, {}
