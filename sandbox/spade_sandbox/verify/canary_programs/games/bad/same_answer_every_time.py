# expect: order
"""The seed is ignored: the treasure is always in the same place."""
import random


class TreasureEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(2024)
        self.x, self.y = rng.randint(0, 40), rng.randint(0, 40)
        self.day = random.Random(seed).choice(["a sunny", "a grey", "a windy"])
        self.turns = 0
        return f"It is {self.day} day on the island. \\boxed{{dig X Y}} with numbers from 0 to 40.", {}

    def step(self, action):
        self.turns += 1
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) != 3 or words[0] != "dig" or not all(w.isdecimal() and len(w) < 3 for w in words[1:]):
            return "You rest in the shade.", 0.0, False, self.turns >= self.max_turns, {}
        x, y = int(words[1]), int(words[2])
        if (x, y) == (self.x, self.y):
            return "Gold!", 1.0, True, False, {}
        way = ("east" if x < self.x else "west") if x != self.x else ("north" if y < self.y else "south")
        return f"Sand. A parrot flies {way}.", 0.1, False, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{dig {self.x} {self.y}}}"
