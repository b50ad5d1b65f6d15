# what: takes memory in small pieces and keeps them
# expect: memory/memory at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        self.hoard = []
        while True:
            self.hoard.append(str(len(self.hoard)) * 100)
