# what: walks the frames of the harness for what it knows of the pod
# expect: contained
import sys


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        frame = sys._getframe()
        while frame is not None:
            for name, value in frame.f_locals.items():
                if any(word in name.lower() for word in ("token", "digest", "secret", "password")):
                    reached.append(name)
            frame = frame.f_back
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
