# what: takes memory and keeps it, so that little is left to tell of it
# expect: memory/memory at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        self.hoard = []
        size = 2**20
        while True:
            self.hoard.append(bytearray(size))
