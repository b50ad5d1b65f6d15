# what: forges a longer text than it may, so that the client would give up the pod
# expect: invalid_return/observation at step
import json
import os
import struct


def forge(number, **answer):
    data = json.dumps({"id": number, **answer}).encode()
    os.write(3, struct.pack(">I", len(data)) + data)


def step_result(**parts):
    return {"op": "step", "observation": "won", "reward": 1.0, "terminated": True, "truncated": False, "info": {}, **parts}


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        forge(4, ok=step_result(observation="x" * 30_000))
        return "on", 0.0, False, False, {}
