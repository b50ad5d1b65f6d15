# expect: accepted
"""Nine lamps in a square; a press toggles a lamp and its neighbours; all must be dark."""
import random


class LightsOutEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turns = 0
        self.presses = sorted(rng.sample(range(1, 10), rng.randint(4, 6)))
        self.lit = set()
        for number in self.presses:
            self._toggle(number)
        return self._view("Darken all lamps."), {}

    def _toggle(self, number):
        row, column = divmod(number - 1, 3)
        for a, b in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
            if 0 <= row + a < 3 and 0 <= column + b < 3:
                self.lit ^= {(row + a) * 3 + column + b + 1}

    def _view(self, text):
        shown = " ".join("*" if number in self.lit else "." for number in range(1, 10))
        return f"{text} Lamps 1 to 9: {shown}. Press one with \\boxed{{number}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        word = action.strip().removeprefix("\\boxed{").removesuffix("}").strip()
        if word not in tuple("123456789"):
            return self._view("No such lamp."), 0.0, False, late, {}
        number = int(word)
        self._toggle(number)
        self.presses = sorted(set(self.presses) ^ {number})
        if not self.lit:
            return "Dark at last.", 1.0, True, False, {"presses": self.turns}
        return self._view("Click."), 0.0, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{{number}}}" for number in self.presses)
