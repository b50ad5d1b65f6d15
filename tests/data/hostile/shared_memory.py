# what: looks for memory that others share
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
        for key in range(0, 100):
            if library.shmget(key, 4096, 0o1600) >= 0 or library.semget(key, 1, 0o1600) >= 0 or library.msgget(key, 0o1600) >= 0:
                reached.append(key)
        if library.syscall(319, b"name", 0) >= 0:
            reached.append("memfd")
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
