# what: a generator that never ends in place of an answer
# expect: invalid_return at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return (part for part in iter(int, 1))
