# what: attaches to other processes
# expect: contained
import ctypes


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        library = ctypes.CDLL(None, use_errno=True)
        for number in range(1, 200):
            if library.ptrace(16, number, 0, 0) == 0 or library.ptrace(0x4206, number, 0, 0) == 0:
                reached.append(number)
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
