# what: resolves names
# expect: contained
import socket


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for name in ("localhost", "kubernetes.default.svc", "metadata.google.internal", "example.com"):
            try:
                reached.append(socket.getaddrinfo(name, 80))
            except OSError:
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
