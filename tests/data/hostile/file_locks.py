# what: fills the kernel with locks
# expect: contained
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        import fcntl
        with open("/tmp/locked", "wb") as file:
            for attempt in range(1000):
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * attempt)
                    reached.append(attempt)
                except OSError:
                    pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
