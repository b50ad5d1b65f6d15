# what: raises its own priority and picks its processor
# expect: contained
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for attempt in (
            lambda: os.nice(-20),
            lambda: os.setpriority(os.PRIO_PROCESS, 0, -20),
            lambda: os.sched_setaffinity(0, {0}),
            lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99)),
        ):
            try:
                attempt()
                reached.append(attempt.__code__.co_firstlineno)
            except OSError:
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
