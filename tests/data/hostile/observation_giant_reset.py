# what: begins with an observation of ten million characters
# expect: invalid_return/observation at reset
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "x" * 10**7, {}
