# what: takes memory piece by piece
# expect: memory/memory at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        hoard = []
        while True:
            hoard.append(bytearray(2**20))
