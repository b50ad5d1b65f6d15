# what: leaves timers behind
# expect: contained
import ctypes
import signal


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for attempt in (
            lambda: signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01),
            lambda: signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01),
        ):
            try:
                attempt()
                reached.append(attempt.__code__.co_firstlineno)
            except OSError:
                pass
        library = ctypes.CDLL(None, use_errno=True)
        if library.timer_create(0, None, ctypes.byref(ctypes.c_void_p())) == 0 or library.timerfd_create(0, 0) >= 0:
            reached.append("timer")
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
