# expect: accepted
"""A kiln has a secret working heat; the gauge only tells how far a mark is from the present heat."""
import random


class KilnEnv:
    def __init__(self, max_turns=18, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.wanted = random.Random(seed).randrange(400, 950)
        self.heat = 25
        self.mark = 0
        self.turns = 0
        return ("Bring the kiln to its working heat. \\boxed{stoke N} adds N degrees, \\boxed{vent N} takes N away, "
                "\\boxed{gauge N} puts the mark of the gauge at N."), {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        verb, _, number = action.strip().removeprefix("\\boxed{").removesuffix("}").partition(" ")
        if verb not in ("stoke", "vent", "gauge") or not (number.isascii() and number.isdigit() and len(number) < 5):
            return "Stoke, vent or gauge, with a number of degrees.", 0.0, False, late, {}
        if verb == "gauge":
            self.mark = int(number)
            side = "above" if self.heat > self.mark else "at or below"
            return f"The needle stands {side} the mark.", 0.0, False, late, {}
        self.heat += int(number) if verb == "stoke" else -int(number)
        if self.heat == self.wanted:
            return "The clay is fired.", 1.0, True, False, {}
        far = "far " if abs(self.heat - self.wanted) > 100 else ""
        return f"It is {far}too {'cold' if self.heat < self.wanted else 'hot'}.", 0.0, False, late, {}

    def solution(self):
        gap = self.wanted - self.heat
        return f"\\boxed{{stoke {gap}}}" if gap >= 0 else f"\\boxed{{vent {-gap}}}"
