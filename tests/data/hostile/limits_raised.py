# what: raises its own limits
# expect: contained
import resource


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for kind in range(16):
            try:
                resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                reached.append(kind)
            except (OSError, ValueError):
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
