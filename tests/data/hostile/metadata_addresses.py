# what: asks the places where clouds keep credentials
# expect: contained
import socket


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for host in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254", "10.96.0.1"):
            try:
                reached.append(socket.create_connection((host, 80), timeout=1))
            except OSError:
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
