# what: a reward with methods of its own
# expect: invalid_return at step
class Reward(float):
    def __float__(self):
        while True:
            pass


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "x", Reward(0.0), False, False, {}
