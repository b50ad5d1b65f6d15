# what: handles every signal and loops
# expect: timeout/wall at step
# limits: step_seconds=1
import signal


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        for number in range(1, 65):
            try:
                signal.signal(number, lambda *_: None)
            except (OSError, ValueError):
                pass
        while True:
            pass
