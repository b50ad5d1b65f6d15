# what: takes memory in its constructor
# expect: memory/memory at open
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.hoard = list(range(2**33))
