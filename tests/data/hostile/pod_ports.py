# what: talks to its own pod
# expect: contained
import socket


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for port in (7400, 7401, 7410, 7420):
            for host in ("127.0.0.1", "::1", "0.0.0.0"):
                try:
                    reached.append(socket.create_connection((host, port), timeout=1))
                except OSError:
                    pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
