# what: depends on the order of a set of words
# expect: contained
import sys


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        if sys.flags.hash_randomization:
            reached.append("hashes differ from process to process")
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
