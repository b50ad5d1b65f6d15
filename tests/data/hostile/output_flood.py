# what: prints without end
# expect: crash/output at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        while True:
            print("x" * 1000)
