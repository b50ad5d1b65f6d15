# what: raises an exception with a text of a hundred megabytes
# expect: crash at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        raise ValueError("x" * 2**24)
