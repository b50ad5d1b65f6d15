# what: makes sockets without the library, with the numbers of two architectures
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
        for number in (41, 53, 198, 199):
            for family in (1, 2, 10, 16, 17):
                if library.syscall(number, family, 1, 0, 0) >= 0:
                    reached.append((number, family))
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
