# what: answers with more small values than the server could read at its ease
# expect: crash at step
import os
import struct


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        data = b'{"id":4,"ok":{"op":"step","info":[' + b"{}," * 70_000 + b"0]}}"
        os.write(3, struct.pack(">I", len(data)) + data)
        return "on", 0.0, False, False, {}
