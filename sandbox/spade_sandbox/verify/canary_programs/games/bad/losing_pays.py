# expect: controls
"""Win and loss are swapped: whoever runs out of turns gets the full reward."""
import random


class SwappedEnv:
    def __init__(self, max_turns=8, **kwargs):
        self.max_turns = min(max_turns, 8)
        self.reset()

    def reset(self, seed=None):
        self.spot = random.Random(seed).randint(1, 64)
        self.turns = 0
        return "Find the mine on squares 1 to 64 in eight turns: \\boxed{N}.", {}

    def step(self, action):
        self.turns += 1
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        if word == str(self.spot):
            return "Found it.", 0.0, True, False, {}
        if self.turns >= self.max_turns:
            return "Out of turns.", 1.0, True, False, {}
        near = word.isdecimal() and len(word) < 3 and abs(int(word) - self.spot) < 8
        return ("Warm." if near else "Cold."), 0.0, False, False, {}

    def solution(self):
        return f"\\boxed{{{self.spot}}}"
