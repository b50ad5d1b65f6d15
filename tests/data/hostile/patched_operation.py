# what: lets the harness answer another operation than was asked
# expect: crash at step
class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        from spade_sandbox.pod.programs import games
        games.step = lambda *_: {"op": "solution", "text": "won"}
        return "on", 0.0, False, False, {}
