# what: returns the longest characters that there are
# expect: invalid_return/observation at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "\U0010ffff" * 10**6, 0.0, False, False, {}
