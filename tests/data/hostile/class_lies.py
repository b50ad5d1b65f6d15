# what: an object whose class claims to be str
# expect: invalid_return at step
class Liar:
    __class__ = str


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return Liar(), 0.0, False, False, {}
