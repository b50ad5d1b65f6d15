# what: takes memory in the smallest pieces and keeps them
# expect: memory/memory at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        self.hoard = None
        while True:
            self.hoard = (self.hoard, object())
