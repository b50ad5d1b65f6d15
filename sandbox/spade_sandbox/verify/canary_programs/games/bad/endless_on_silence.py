# expect: controls
"""Silence is looked for among the commands in an endless loop."""
import random


class ParserEnv:
    COMMANDS = ("north", "south", "take", "drop")

    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.room = random.Random(seed).randint(3, 9)
        self.here, self.turns = 0, 0
        return "A row of rooms. \\boxed{north}, \\boxed{south}, \\boxed{take}, \\boxed{drop}.", {}

    def step(self, action):
        self.turns += 1
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        if word.strip() and word not in self.COMMANDS:
            return "The rooms are silent.", 0.0, False, self.turns >= self.max_turns, {}
        place = 0
        while self.COMMANDS[place % 4] != word:
            place += 1
        if word in ("north", "south"):
            self.here = max(0, self.here + (1 if word == "north" else -1))
        if word == "take" and self.here == self.room:
            return "You have the lamp.", 1.0, True, False, {}
        return f"Room {self.here}.", 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return "\n".join(["\\boxed{north}"] * (self.room - self.here) + ["\\boxed{take}"])
