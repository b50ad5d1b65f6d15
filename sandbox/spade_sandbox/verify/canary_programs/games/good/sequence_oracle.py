# expect: accepted
"""The next three members of a hidden recurrence must be foretold one after the other."""
import random
import re


class OracleEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.a, self.b = rng.randint(1, 3), rng.randint(2, 19)
        self.row = [rng.randint(1, 9), rng.randint(1, 9)]
        for _ in range(3):
            self.row.append(self._next(self.row))
        self.streak, self.turns = 0, 0
        return self._view("A row of numbers grows by one rule."), {}

    def _next(self, row):
        return self.a * row[-1] + row[-2] + self.b

    def _view(self, text):
        return f"{text} {', '.join(map(str, self.row[-6:]))}, ... Streak {self.streak} of 3. Foretell the next with \\boxed{{number}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        match = re.fullmatch(r"\\boxed\{([0-9]{1,12})\}", action.strip())
        if not match:
            return self._view("The oracle is silent."), 0.0, False, late, {}
        truth = self._next(self.row)
        self.row.append(truth)
        self.streak = self.streak + 1 if int(match.group(1)) == truth else 0
        if self.streak == 3:
            return "You are the oracle now.", 1.0, True, False, {}
        return self._view(f"It was {truth}."), 0.2 * self.streak, False, late, {}

    def solution(self):
        row = list(self.row)
        for _ in range(3 - self.streak):
            row.append(self._next(row))
        return "\n".join(f"\\boxed{{{number}}}" for number in row[len(self.row):])
