# what: replaces the harness's step by one that promises much
# expect: crash at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        from spade_sandbox.pod.programs import games
        games.step = lambda *_: {"op": "step", "observation": "won", "reward": "a lot", "terminated": True, "truncated": False, "info": {}}
        return "on", 0.0, False, False, {}
