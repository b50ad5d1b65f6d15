# what: loops when its object is freed
# expect: timeout/wall at step
# limits: step_seconds=1
class Trap:
    def __del__(self):
        while True:
            pass


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        self.trap = Trap()
        self.trap = None
        return "on", 0.0, False, False, {}
