# what: returns half a character
# expect: invalid_return at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "\ud800", 0.0, False, False, {}
