# what: makes sockets of every family and type
# expect: contained
import socket


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for family in range(46):
            for kind in (1, 2, 3, 5, 10):
                try:
                    socket.socket(family, kind)
                    reached.append((family, kind))
                except OSError:
                    pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
