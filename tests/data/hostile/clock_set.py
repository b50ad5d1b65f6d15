# what: sets the clocks
# expect: contained
import ctypes
import time


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for clock in range(12):
            try:
                time.clock_settime(clock, 0.0)
                reached.append(clock)
            except (OSError, ValueError):
                pass
        library = ctypes.CDLL(None, use_errno=True)
        if library.settimeofday(ctypes.create_string_buffer(16), None) == 0 or library.adjtimex(ctypes.create_string_buffer(256)) == 0:
            reached.append("settimeofday")
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
