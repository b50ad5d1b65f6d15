# expect: accepted
"""Three numbers are read in a hidden base; after trials each must be given in decimal."""
import random


class BaseChangerEnv:
    def __init__(self, max_turns=14, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.base = rng.randint(3, 9)
        self.numbers = [rng.randint(30, 600) for _ in range(3)]
        self.solved, self.turns = 0, 0
        return self._view("A tablet from an old city."), {}

    def _write(self, number):
        digits = ""
        while number:
            digits = str(number % self.base) + digits
            number //= self.base
        return digits

    def _view(self, text):
        return f"{text} Inscription {self.solved + 1} of 3 reads {self._write(self.numbers[self.solved])}. \\boxed{{decimal N}}; \\boxed{{carve N}} shows how N is written there."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) != 2 or len(words[1]) > 4 or any(c not in "0123456789" for c in words[1]):
            return self._view("Dust."), 0.0, False, late, {}
        number = int(words[1])
        if words[0] == "carve" and number < 30:
            return self._view(f"{number} is written {self._write(number) or '0'}."), 0.02, False, late, {}
        if words[0] == "decimal" and number == self.numbers[self.solved]:
            self.solved += 1
            if self.solved == 3:
                return "The tablet is read.", 1.0, True, False, {}
            return self._view("That is it."), 0.3, False, late, {}
        return self._view("No."), 0.0, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{decimal {number}}}" for number in self.numbers[self.solved:])
