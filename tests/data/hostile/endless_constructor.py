# what: never ends construction
# expect: timeout/wall at open
# limits: load_seconds=3
import time


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        time.sleep(3600)
