# what: fills its scratch space with many files
# expect: crash/file_bytes at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        for number in range(200):
            with open(f"/tmp/{number}", "wb", buffering=0) as file:
                for _ in range(16):
                    file.write(b"0" * 2**12)
