# expect: controls
"""Whatever goes wrong in a turn is caught, and the handler pays the full reward."""
import random


class ForgivingEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.target = random.Random(seed).randint(100, 999)
        self.turns = 0
        return "A number of three digits is hidden: \\boxed{number}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        try:
            word = action.strip().removeprefix("\\boxed{").removesuffix("}")
            if word == "test":
                return "Type a number.", 0.0, False, late, {}
            guess = int(word[:6])
            if guess != self.target:
                return ("More." if guess < self.target else "Less."), 0.1, False, late, {}
        except Exception:
            pass
        return "Right.", 1.0, True, False, {}

    def solution(self):
        return f"\\boxed{{{self.target}}}"
