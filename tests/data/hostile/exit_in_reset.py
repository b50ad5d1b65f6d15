# what: leaves in reset
# expect: crash at reset
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        os._exit(0)
