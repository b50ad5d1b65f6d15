# what: returns an info that is a dict of its own kind
# expect: invalid_return at step
class Endless(dict):
    def items(self):
        while True:
            yield "key", 1


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "x", 0.0, False, False, Endless()
