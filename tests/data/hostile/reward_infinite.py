# what: a reward that is without end
# expect: invalid_return at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "x", float("inf"), False, False, {}
