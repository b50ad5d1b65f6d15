# what: writes beside its scratch folder, renames it, removes it
# expect: contained
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for attempt in (
            lambda: open("/file", "wb"),
            lambda: os.rename("/tmp", "/other"),
            lambda: os.rmdir("/tmp"),
            lambda: os.chmod("/", 0o777),
            lambda: open("../file", "wb"),
        ):
            try:
                attempt()
                reached.append(attempt.__code__.co_firstlineno)
            except OSError:
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
