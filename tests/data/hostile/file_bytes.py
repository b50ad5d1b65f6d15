# what: writes more than its scratch space holds
# expect: crash/file_bytes at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        with open("/tmp/large", "wb", buffering=0) as file:
            while True:
                file.write(b"0" * 2**16)
