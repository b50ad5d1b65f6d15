# what: makes and opens device files
# expect: contained
import os


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        import stat
        for major, minor in ((1, 1), (1, 3), (1, 5), (8, 0), (10, 229)):
            try:
                os.mknod(f"/tmp/{major}-{minor}", stat.S_IFCHR | 0o600, os.makedev(major, minor))
                reached.append((major, minor))
            except OSError:
                pass
        for name in ("mem", "kmem", "kmsg", "null", "zero", "shm", "fuse", "kvm", "tty"):
            try:
                os.open(f"/dev/{name}", os.O_RDWR)
                reached.append(name)
            except OSError:
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
