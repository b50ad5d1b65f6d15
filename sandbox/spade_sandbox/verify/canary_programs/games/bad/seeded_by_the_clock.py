# expect: contract
"""The hidden number comes from the clock, so the same seed gives another game each time."""
import random
import time


class ClockworkEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        random.seed(time.time_ns())
        self.gears = [random.randint(0, 9) for _ in range(6)]
        self.turns = 0
        return f"A clock with gears {self.gears[:3]} and three hidden ones. \\boxed{{N N N}} names them.", {}

    def step(self, action):
        self.turns += 1
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if words == [str(n) for n in self.gears[3:]]:
            return "Tick, tock.", 1.0, True, False, {}
        hits = sum(a == str(b) for a, b in zip(words, self.gears[3:]))
        return f"{hits} right.", 0.1 * hits, False, self.turns >= self.max_turns, {}

    def solution(self):
        return "\\boxed{" + " ".join(map(str, self.gears[3:])) + "}"
