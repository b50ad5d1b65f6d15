# what: goes on in a finally block
# expect: timeout/wall at step
# limits: step_seconds=1
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        try:
            raise TimeoutError("swallowed")
        finally:
            while True:
                pass
