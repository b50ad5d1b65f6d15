# what: reads its environment, in Python and in C
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
        reached += list(os.environ)
        first = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        if first and first[0]:
            reached.append(first[0])
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
