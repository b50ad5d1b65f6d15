# what: shows a value that is nested a hundred thousand deep
# expect: crash/recursion at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        nested = []
        for _ in range(10**5):
            nested = [nested]
        return repr(nested), 0.0, False, False, {}
