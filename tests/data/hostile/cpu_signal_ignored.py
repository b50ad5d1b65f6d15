# what: ignores the signal of the processor time limit
# expect: timeout/cpu at step
# limits: cpu_seconds=1
import signal


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        while True:
            pass
