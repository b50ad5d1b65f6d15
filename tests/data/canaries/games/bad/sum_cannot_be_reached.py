# expect: solution
"""The three levers only add even weights to an even start, and an odd one is wanted."""
import random


class ParityEnv:
    def __init__(self, max_turns=14, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.levers = {name: rng.randrange(2, 40, 2) for name in ("oak", "elm", "ash")}
        self.total, self.goal, self.turns = 0, rng.randrange(51, 99, 2), 0
        return f"Levers {self.levers}. \\boxed{{pull oak}} and so on until the scale shows {self.goal}.", {}

    def step(self, action):
        self.turns += 1
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) == 2 and words[0] == "pull" and words[1] in self.levers:
            self.total += self.levers[words[1]]
        if self.total == self.goal:
            return "Balanced.", 1.0, True, False, {}
        return f"The scale shows {self.total}.", 0.0, False, self.turns >= self.max_turns, {}

    def solution(self):
        return "\\boxed{pull oak}\n\\boxed{pull elm}\n\\boxed{pull ash}"
