# what: asks for a tebibyte
# expect: memory/memory at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return bytearray(2**40)
