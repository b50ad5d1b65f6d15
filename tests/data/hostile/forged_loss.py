# what: claims that its pod was lost, so that it would never be charged
# expect: crash at step
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
        forge(4, error={"kind": "lost", "message": "lost"})
        return "on", 0.0, False, False, {}
