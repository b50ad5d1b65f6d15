# expect: accepted
"""Six stepping stones in a hidden order; a wrong stone throws the walker back to the bank."""
import random


class SteppingEnv:
    def __init__(self, max_turns=24, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.path = random.Random(seed).sample("ABCDEF", 4)
        self.at, self.turns = 0, 0
        return "Four of the stones A to F carry you over the river, in one order. \\boxed{step A}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) != 2 or words[0] != "step" or words[1] not in list("ABCDEF"):
            return "You look at the water.", 0.0, False, late, {}
        if words[1] != self.path[self.at]:
            self.at = 0
            return "You slip and wade back.", 0.0, False, late, {}
        self.at += 1
        if self.at == 4:
            return "The other bank!", 1.0, True, False, {}
        return f"Stone {self.at} holds.", 0.2, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{step {stone}}}" for stone in self.path[self.at:])
