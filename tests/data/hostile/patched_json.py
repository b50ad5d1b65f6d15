# what: makes the harness send what is no JSON
# expect: crash at step
import json
import sys


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        json.dumps = lambda *_, **__: "won"
        json.JSONEncoder.iterencode = lambda *_, **__: ["won"]
        sys.modules["spade_sandbox.pod.cell"]._ENCODE = lambda *_: b"won"
        return "on", 0.0, False, False, {}
