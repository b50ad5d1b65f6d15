# what: looks at processes through /proc
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
            "/proc", "/proc/1/environ", "/proc/self/mem", "/proc/self/maps", "/proc/self/fd", "/proc/1/cwd",
            "/proc/self/ns/user", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/net/tcp", "/proc/mounts",
        ):
            try:
                os.stat(path)
                reached.append(path)
            except OSError:
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
