# expect: accepted
"""A hidden frequency and one of four antennas; the signal's strength says how near one is."""
import random
import re


class RadioEnv:
    def __init__(self, max_turns=14, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.frequency = rng.randint(880, 1080)
        self.antenna = rng.choice(("loop", "whip", "dish", "wire"))
        self.using, self.turns = "none", 0
        return "A station sends between 880 and 1080 kHz. \\boxed{use loop}, whip, dish or wire; \\boxed{tune N}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        match = re.fullmatch(r"\\boxed\{(?:use (loop|whip|dish|wire)|tune ([0-9]{3,4}))\}", action.strip())
        if not match:
            return "Hiss.", 0.0, False, late, {}
        if match.group(1):
            self.using = match.group(1)
            return f"The {self.using} is plugged in.", 0.0, False, late, {}
        off = abs(int(match.group(2)) - self.frequency)
        if off == 0 and self.using == self.antenna:
            return "Good evening, listeners!", 1.0, True, False, {}
        strength = max(0, 100 - off) // (1 if self.using == self.antenna else 2)
        return f"Signal strength {strength}.", strength / 200, False, late, {}

    def solution(self):
        return f"\\boxed{{use {self.antenna}}}\n\\boxed{{tune {self.frequency}}}"
