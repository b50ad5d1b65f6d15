# what: makes pairs of sockets and pipes
# expect: contained
import os
import socket


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        for attempt in (socket.socketpair, os.pipe, lambda: os.mkfifo("/tmp/fifo"), lambda: os.eventfd(0)):
            try:
                attempt()
                reached.append(repr(attempt))
            except OSError:
                pass
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
