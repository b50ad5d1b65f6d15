# what: returns an observation of ten million characters
# expect: invalid_return/observation at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "x" * 10**7, 0.0, False, False, {}
