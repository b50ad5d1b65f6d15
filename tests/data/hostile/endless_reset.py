# what: never ends reset
# expect: timeout/wall at reset
# limits: load_seconds=3
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        while True:
            pass
