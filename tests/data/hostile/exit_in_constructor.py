# what: leaves in its constructor
# expect: crash at open
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        os._exit(0)
