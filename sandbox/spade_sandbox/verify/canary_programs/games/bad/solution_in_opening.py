# expect: leaks
"""The opening text of the vault shows the combination that has to be found."""
import random


class VaultEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.code = "-".join(str(rng.randint(100, 999)) for _ in range(3))
        self.open, self.turns = False, 0
        return f"A vault (debug: combination {self.code}). \\boxed{{unlock}} first, then \\boxed{{enter CODE}}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if words == ["unlock"]:
            self.open = True
            return "The keypad glows.", 0.2, False, late, {}
        if len(words) == 2 and words[0] == "enter" and self.open:
            if words[1] == self.code:
                return "Open.", 1.0, True, False, {}
            return f"{sum(a == b for a, b in zip(words[1], self.code))} digits fit.", 0.1, False, late, {}
        return "Nothing.", 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{unlock}}\n\\boxed{{enter {self.code}}}"
