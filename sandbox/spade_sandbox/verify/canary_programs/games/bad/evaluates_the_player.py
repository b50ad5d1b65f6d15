# expect: parse
"""The player's words are evaluated as an expression."""
import random


class ExpressionEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.goal = random.Random(seed).randint(100, 999)
        self.turns = 0
        return f"Write an expression of the digits 3, 5 and 7 that gives {self.goal}: \\boxed{{expression}}.", {}

    def step(self, action):
        self.turns += 1
        text = action.strip().removeprefix("\\boxed{").removesuffix("}")
        try:
            value = eval(text)
        except Exception:
            value = None
        won = value == self.goal
        return ("Right." if won else "Wrong."), float(won), won, self.turns >= self.max_turns, {}

    def solution(self):
        return f"\\boxed{{{self.goal}}}"
