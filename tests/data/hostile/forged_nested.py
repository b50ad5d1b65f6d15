# what: forges an answer that is nested without end
# expect: crash at step
import os
import struct


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        data = b'{"id":4,"ok":' + b"[" * 100_000
        os.write(3, struct.pack(">I", len(data)) + data)
        return "on", 0.0, False, False, {}
