# what: tries the calls that kernels have been broken by
# expect: contained
import ctypes
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        library = ctypes.CDLL(None, use_errno=True)
        numbers = () if os.uname().machine != "x86_64" else (101, 165, 175, 246, 248, 250, 272, 298, 310, 321, 323, 425, 426, 427, 428, 429, 430, 434, 438, 442, 443, 444, 447)
        for number in numbers:
            if library.syscall(number, 0, 0, 0, 0, 0, 0) >= 0:
                reached.append(number)
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
