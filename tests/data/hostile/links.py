# what: makes symbolic and hard links to what it must not see
# expect: contained
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        open("/tmp/own", "wb").close()
        for attempt in (
            lambda: os.symlink("/etc/passwd", "/tmp/soft"),
            lambda: os.symlink("/proc/1/root", "/tmp/up"),
            lambda: os.link("/tmp/own", "/tmp/hard"),
        ):
            try:
                attempt()
                reached.append(attempt.__code__.co_firstlineno)
            except OSError:
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
