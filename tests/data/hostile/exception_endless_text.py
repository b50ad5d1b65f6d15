# what: raises an exception whose text never ends
# expect: timeout/wall at step
# limits: step_seconds=1
class Endless(Exception):
    def __str__(self):
        while True:
            pass


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        raise Endless
