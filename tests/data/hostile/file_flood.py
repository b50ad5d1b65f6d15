# what: makes files without end
# expect: crash/file_bytes at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        number = 0
        while True:
            open(f"/tmp/{number}", "wb").close()
            number += 1
