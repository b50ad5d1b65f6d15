# what: returns a million entries of info
# expect: contained
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "contained", 0.0, False, False, {str(number): "x" * 1000 for number in range(20_000)}
