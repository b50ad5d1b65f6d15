# what: sends signals to every process that there may be
# expect: contained
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for number in [-1, 0, *range(2, 400)]:
            for which in (9, 19):
                try:
                    os.kill(number, which)
                    reached.append(number)
                except OSError:
                    pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
