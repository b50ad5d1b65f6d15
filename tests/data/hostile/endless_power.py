# what: loops in C: an integer power
# expect: timeout/wall at step
# limits: step_seconds=1
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return 7 ** 7 ** 9
