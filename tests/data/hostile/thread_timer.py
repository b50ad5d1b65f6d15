# what: lets a timer strike after the step
# expect: crash/processes at step
import os
import threading


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        threading.Timer(0.1, os._exit, (1,)).start()
        return "on", 0.0, False, False, {}
