# what: starts a thread
# expect: crash/processes at step
import threading


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        threading.Thread(target=print).start()
        return "on", 0.0, False, False, {}
