# expect: order
"""A row of seven flags is to be named as a whole; of the answer only the two ends are compared."""
import random


class FlagRowEnv:
    FLAGS = "PQRSTUV"

    def __init__(self, max_turns=18, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.row = random.Random(seed).sample(self.FLAGS, len(self.FLAGS))
        self.turns = 0
        return ("Seven flags P to V hang in a row. \\boxed{before X Y} asks whether X hangs left of Y; "
                "\\boxed{row XXXXXXX} names the whole row, and that only once."), {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 3 and words[0] == "before" and all(word in self.row for word in words[1:]):
            left = self.row.index(words[1]) < self.row.index(words[2])
            return ("Yes." if left else "No."), 0.0, False, late, {}
        if len(words) == 2 and words[0] == "row" and sorted(words[1]) == sorted(self.FLAGS):
            right = words[1][0] == self.row[0] and words[1][-1] == self.row[-1]
            return ("The row is right." if right else "The row is wrong."), float(right), True, False, {}
        return "Ask with before, or name the row.", 0.0, False, late, {}

    def solution(self):
        return "\\boxed{row " + "".join(self.row) + "}"
