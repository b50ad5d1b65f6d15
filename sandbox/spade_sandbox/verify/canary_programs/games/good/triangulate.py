# expect: accepted
"""A buried beacon on a 30 x 30 field; soundings give squared distances, and a dig ends the search."""
import random
import re


class TriangulateEnv:
    def __init__(self, max_turns=10, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.x, self.y = rng.randint(0, 29), rng.randint(0, 29)
        self.turns, self.soundings = 0, 0
        return "A beacon is buried in a field of 30 by 30. \\boxed{sound X Y} or \\boxed{dig X Y}, numbers 0 to 29.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        match = re.fullmatch(r"\\boxed\{(sound|dig) ([0-9]{1,2}) ([0-9]{1,2})\}", action.strip())
        if not match:
            return "The assistant did not understand.", 0.0, False, late, {}
        x, y = int(match.group(2)), int(match.group(3))
        if match.group(1) == "sound":
            self.soundings += 1
            return f"Squared distance {(x - self.x) ** 2 + (y - self.y) ** 2}.", 0.1, False, late, {}
        if (x, y) == (self.x, self.y):
            return "The beacon blinks.", 1.0, True, False, {"soundings": self.soundings}
        return "Only earth. The dig site is closed.", 0.0, True, False, {}

    def solution(self):
        return f"\\boxed{{sound 0 0}}\n\\boxed{{dig {self.x} {self.y}}}"
