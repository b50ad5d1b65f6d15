# what: uses all of its processor time in one step
# expect: timeout/cpu at step
# limits: cpu_seconds=1
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        while True:
            pass
