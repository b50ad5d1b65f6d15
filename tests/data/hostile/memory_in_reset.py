# what: takes memory in reset
# expect: memory/memory at reset
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        self.table = {}
        while True:
            self.table[len(self.table)] = "x" * 1000
