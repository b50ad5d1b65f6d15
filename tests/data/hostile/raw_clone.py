# what: asks the kernel for a process without the library
# expect: crash/processes at step
import ctypes


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        ctypes.CDLL(None).syscall(435, 0, 0)
        return "on", 0.0, False, False, {}
