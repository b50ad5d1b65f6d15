# expect: accepted
"""A row of seven flags is to be named as a whole, after questions about pairs."""
import random


class FlagRowEnv:
    FLAGS = "PQRSTUV"

    def __init__(self, max_turns=25, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.hung = random.Random(seed).sample(self.FLAGS, len(self.FLAGS))
        self.turns = 0
        return ("The flags P to V hang in a row. \\boxed{between X Y Z} asks whether Y hangs between X and Z; "
                "\\boxed{neighbours X Y} whether two hang side by side; \\boxed{row XXXXXXX} names all, left to right."), {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        places = [self.hung.index(word) for word in words[1:] if word in self.hung]
        if len(words) == 4 and words[0] == "between" and len(places) == 3:
            inside = min(places[0], places[2]) < places[1] < max(places[0], places[2])
            return ("It does." if inside else "It does not."), 0.0, False, late, {}
        if len(words) == 3 and words[0] == "neighbours" and len(places) == 2:
            return ("They do." if abs(places[0] - places[1]) == 1 else "They do not."), 0.0, False, late, {}
        if len(words) == 2 and words[0] == "row" and len(words[1]) == len(self.FLAGS):
            right = list(words[1]) == self.hung
            return ("Every flag is named." if right else "No."), float(right), right, late and not right, {}
        return "Nobody answers.", 0.0, False, late, {}

    def solution(self):
        return "\\boxed{row " + "".join(self.hung) + "}"
