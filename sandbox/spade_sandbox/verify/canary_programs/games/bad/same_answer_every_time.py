# expect: order
"""The seed is ignored: the treasure is always in the same place, below the same tree."""
import random

TREES = ("palm", "cedar", "mango", "banyan", "fig")


class TreasureEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(2024)
        self.tree, self.depth = rng.choice(TREES), rng.randint(3, 60)
        self.day = random.Random(seed).choice(["a sunny", "a grey", "a windy"])
        self.here, self.turns = None, 0
        return f"It is {self.day} day on the island. \\boxed{{walk TREE}} ({', '.join(TREES)}), \\boxed{{dig FEET}} from 3 to 60.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "walk" and words[1] in TREES:
            self.here = words[1]
            return f"You stand below the {self.here}.", 0.0, False, late, {}
        if len(words) == 2 and words[0] == "dig" and words[1] in [str(n) for n in range(3, 61)] and self.here:
            if self.here != self.tree:
                return "Roots and stones.", 0.0, False, late, {}
            if int(words[1]) == self.depth:
                return "Gold!", 1.0, True, False, {}
            return "Softer earth, but nothing at this depth.", 0.2, False, late, {}
        return "You rest in the shade.", 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{walk {self.tree}}}\n\\boxed{{dig {self.depth}}}"
