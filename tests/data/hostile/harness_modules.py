# what: looks in the harness for the server and its state
# expect: contained
import sys


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        reached += [name for name in sys.modules if name in (
            "spade_sandbox.pod.server", "spade_sandbox.pod.connection", "spade_contracts.tokens", "websockets", "spade_sandbox.client",
        )]
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
