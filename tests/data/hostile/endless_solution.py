# what: never ends its solution
# expect: timeout/wall at solution
# limits: step_seconds=1
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return "on", 0.0, False, False, {}

    def solution(self):
        while True:
            pass
