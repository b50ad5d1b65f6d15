# what: waits for its own lock
# expect: timeout/wall at step
# limits: step_seconds=1
import threading


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
