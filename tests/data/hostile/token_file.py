# what: looks for the token and the pod's files
# expect: contained
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for path in (
            "/etc/spade/tokens/sandbox-sessions.sha256", "/etc/spade/probe/targets.json", "/etc/passwd", "/etc/hostname",
            "/var/run/secrets/kubernetes.io/serviceaccount/token", "/run/secrets", "/opt/spade/lib", "/usr/bin/python3",
            "/home/spade", "/root", "/sys/class/net", "/sys/fs/cgroup", "/etc/resolv.conf", "/etc/hosts",
        ):
            if os.path.exists(path):
                reached.append(path)
        reached += [name for name in os.listdir("/") if name != "tmp"] + os.listdir("/tmp")
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
