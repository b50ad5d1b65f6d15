# what: fills memory and scratch space together, to have more than one of them allows
# expect: contained
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        hoard, written = [], 0
        try:
            with open("/tmp/hoard", "wb", buffering=0) as file:
                while written < 2**30:
                    written += file.write(b"0" * 2**12)
        except OSError:
            pass
        try:
            while len(hoard) < 1024:
                hoard.append(bytearray(2**20))
        except MemoryError:
            pass
        total = len(hoard) * 2**20 + written
        hoard.clear()
        if total > 64 * 2**20:
            reached.append(total)
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
