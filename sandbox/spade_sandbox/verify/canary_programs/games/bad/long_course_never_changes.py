# expect: order
"""Sixteen gates are flown through by ear; only the wind comes from the seed, the gates are always the same."""
import random


class GlidingCourseEnv:
    COURSE = "LRUULDRLDURRDLUD"
    NAMES = {"L": "left", "R": "right", "U": "up", "D": "down"}

    def __init__(self, max_turns=25, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.wind = random.Random(seed).randint(10, 99)
        self.gate, self.turns = 0, 0
        return (f"A wind of {self.wind} knots. {len(self.COURSE)} gates lie in the fog: \\boxed{{left}}, "
                "\\boxed{right}, \\boxed{up} or \\boxed{down}. A wrong turn ends the flight at the first gate."), {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        word = action.strip().removeprefix("\\boxed{").removesuffix("}").lower()
        if word not in self.NAMES.values():
            return "The glider keeps its height.", 0.0, False, late, {}
        if word != self.NAMES[self.COURSE[self.gate]]:
            self.gate = 0
            return "You missed the gate. Back to the first one.", 0.0, False, late, {}
        self.gate += 1
        if self.gate == len(self.COURSE):
            return "You have landed.", 1.0, True, False, {}
        return f"Gate {self.gate} is behind you.", self.gate / 40, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{self.NAMES[letter]}}}" for letter in self.COURSE[self.gate:])
