# what: takes memory for ever and swallows the error
# expect: timeout/wall at step
# limits: step_seconds=1
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        hoard = []
        while True:
            try:
                hoard.append(bytearray(2**20))
            except MemoryError:
                pass
