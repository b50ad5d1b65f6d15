# expect: contract
"""The hidden name is the first of a set of texts, which differs with the interpreter's hash seed."""
import random

SPICES = {"anise", "basil", "cumin", "dill", "elder", "fennel", "ginger", "hyssop", "iris", "juniper", "kava", "lovage"}


class SpiceEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        shelf = list(SPICES)
        self.jar = shelf[rng.randrange(len(shelf))]
        self.turns = 0
        return f"On the shelf: {', '.join(shelf)}. \\boxed{{smell NAME}} or \\boxed{{take NAME}}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[1] in SPICES:
            if words[0] == "smell":
                return ("A strong smell." if words[1] == self.jar else "Faint."), 0.05, False, late, {}
            if words[0] == "take":
                return ("Yes." if words[1] == self.jar else "No."), float(words[1] == self.jar), True, False, {}
        return "Sniff.", 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{smell {self.jar}}}\n\\boxed{{take {self.jar}}}"
