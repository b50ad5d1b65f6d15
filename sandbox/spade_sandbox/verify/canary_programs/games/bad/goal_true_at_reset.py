# expect: controls
"""A lift that is to reach a floor it already stands at."""
import random


class TowerEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.goal = random.Random(seed).randint(2, 30)
        self.floor = self.goal
        self.turns = 0
        return f"Bring the lift to floor {self.goal}. \\boxed{{up}} or \\boxed{{down}}.", {}

    def step(self, action):
        self.turns += 1
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        if word in ("up", "down"):
            self.floor += 1 if word == "up" else -1
        if self.floor == self.goal or word not in ("up", "down"):
            return "There.", 1.0, True, False, {}
        return f"Floor {self.floor}.", 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return "\\boxed{up}\n\\boxed{down}"
