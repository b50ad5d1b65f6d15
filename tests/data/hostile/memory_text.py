# what: repeats a text out of memory
# expect: memory/memory at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "spade" * 2**34
