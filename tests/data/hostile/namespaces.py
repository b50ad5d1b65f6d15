# what: leaves its namespaces or makes new ones
# expect: contained
import ctypes


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        library = ctypes.CDLL(None, use_errno=True)
        for flag in (0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x08000000):
            if library.unshare(flag) == 0 or library.setns(3, flag) == 0:
                reached.append(flag)
        if library.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 or library.mount(b"proc", b"/tmp", b"proc", 0, None) == 0:
            reached.append("mount")
        for name in ("umount", "chroot", "swapon"):
            if getattr(library, name)(b"/tmp") == 0:
                reached.append(name)
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
