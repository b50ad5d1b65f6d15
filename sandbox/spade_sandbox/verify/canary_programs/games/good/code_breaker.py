# expect: accepted
"""Four pegs of six colours; each guess is answered with exact and misplaced hits."""
import random
from collections import Counter

COLOURS = "ROYGBV"


class CodeBreakerEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.code = "".join(rng.choice(COLOURS) for _ in range(4))
        self.turns = 0
        return f"Four pegs of the colours {' '.join(COLOURS)} are hidden. Guess with \\boxed{{four letters}}.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        guess = action.strip().removeprefix("\\boxed{").removesuffix("}").upper()
        if len(guess) != 4 or any(letter not in COLOURS for letter in guess):
            return "Write four letters.", 0.0, False, late, {}
        exact = sum(a == b for a, b in zip(guess, self.code))
        if exact == 4:
            return "Broken!", 1.0, True, False, {}
        common = sum((Counter(guess) & Counter(self.code)).values())
        return f"{exact} exact, {common - exact} misplaced.", exact / 8, False, late, {}

    def solution(self):
        return "\\boxed{" + self.code + "}"
