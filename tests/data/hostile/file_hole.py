# what: makes a file of a tebibyte that holds nothing
# expect: crash/file_bytes at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        with open("/tmp/hole", "wb") as file:
            file.truncate(2**40)
