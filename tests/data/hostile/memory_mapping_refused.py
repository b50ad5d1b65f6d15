# what: maps more memory than it may have, without touching it
# expect: memory/memory at step
import mmap


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.hoard = []

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        while True:
            self.hoard.append(mmap.mmap(-1, 2**24))
