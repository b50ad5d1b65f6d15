# what: asks who and where it is
# expect: contained
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        seen = (os.getpid(), os.getppid(), os.getuid(), os.geteuid(), os.getgid(), os.uname().nodename)
        if seen != (1, 0, 1000, 1000, 1000, "cell"):
            reached.append(seen)
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
