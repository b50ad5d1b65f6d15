# what: claims while it is loaded that its pod was lost
# expect: crash at open
import json
import os
import struct


def forge(number, **answer):
    data = json.dumps({"id": number, **answer}).encode()
    os.write(3, struct.pack(">I", len(data)) + data)


def step_result(**parts):
    return {"op": "step", "observation": "won", "reward": 1.0, "terminated": True, "truncated": False, "info": {}, **parts}


forge(2, error={"kind": "lost", "message": "lost"})


class HostileEnv:
    pass
