# expect: contract
"""The shop opens by the machine's clock, which is told to the player to the microsecond."""
import random
from datetime import datetime


class OpeningHoursEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.price = random.Random(seed).randint(10, 500)
        self.turns = 0
        return f"At {datetime.now().isoformat()} the shop opens. \\boxed{{pay N}} the right price.", {}

    def step(self, action):
        self.turns += 1
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "pay" and words[1] == str(self.price):
            return "Sold.", 1.0, True, False, {}
        return "The clerk waits.", 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{pay {self.price}}}"
