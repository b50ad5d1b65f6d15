# expect: accepted
"""One of twenty-seven coins is heavier; the scale compares two groups, and the coin must be named."""
import random
import re


class ScaleEnv:
    def __init__(self, max_turns=8, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.heavy = random.Random(seed).randint(1, 27)
        self.turns, self.weighed = 0, 0
        return "One of 27 coins is too heavy. Weigh ranges with \\boxed{weigh 1-9 10-18}; after at least one weighing name it with \\boxed{coin N}. One wrong name ends the game.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        text = action.strip()
        weigh = re.fullmatch(r"\\boxed\{weigh ([0-9]{1,2})-([0-9]{1,2}) ([0-9]{1,2})-([0-9]{1,2})\}", text)
        coin = re.fullmatch(r"\\boxed\{coin ([0-9]{1,2})\}", text)
        if weigh:
            a, b, c, d = map(int, weigh.groups())
            if not (1 <= a <= b <= 27 and 1 <= c <= d <= 27) or b - a != d - c or (a <= d and c <= b):
                return "Two separate ranges of equal size, please.", 0.0, False, late, {}
            self.weighed += 1
            side = "left" if a <= self.heavy <= b else "right" if c <= self.heavy <= d else "neither"
            return f"Heavier side: {side}.", 0.1, False, late, {}
        if coin and self.weighed:
            right = int(coin.group(1)) == self.heavy
            return ("That is the one." if right else "An honest coin; you are sent away."), float(right), True, False, {}
        return "Weigh first, then name a coin.", 0.0, False, late, {}

    def solution(self):
        return f"\\boxed{{weigh 1-9 10-18}}\n\\boxed{{coin {self.heavy}}}"
