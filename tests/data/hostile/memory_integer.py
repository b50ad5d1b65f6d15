# what: shifts one bit out of memory
# expect: memory/memory at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return 1 << (2**36)
