# expect: accepted
"""Buy and sell one crate a day at prices that are told day by day; the profit must reach the target."""
import random
import re


class MarketDaysEnv:
    DAYS = 10

    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.prices = [rng.randint(10, 60) for _ in range(self.DAYS)]
        self.best = sum(max(0, b - a) for a, b in zip(self.prices, self.prices[1:]))
        self.target = max(1, int(self.best * 0.8))
        self.day, self.profit, self.crate = 0, 0, None
        return self._view("You trade in salt."), {"target": self.target}

    def _view(self, text):
        stock = "no crate" if self.crate is None else "one crate"
        return (f"{text} Day {self.day + 1} of {self.DAYS}: a crate costs {self.prices[self.day]}. You have {stock} and "
                f"{self.profit} coins of {self.target} wanted. \\boxed{{buy}}, \\boxed{{sell}} or \\boxed{{wait}}.")

    def step(self, action):
        match = re.fullmatch(r"\\boxed\{(buy|sell|wait)\}", action.strip())
        if not match:
            text = "The trader shrugs."
        elif match.group(1) == "buy" and self.crate is None:
            self.crate = self.prices[self.day]
            text = "Bought."
        elif match.group(1) == "sell" and self.crate is not None:
            self.profit += self.prices[self.day] - self.crate
            self.crate = None
            text = "Sold."
        else:
            text = "A quiet day."
        if self.profit >= self.target:
            return f"{text} You are rich.", 1.0, True, False, {}
        self.day += 1
        if self.day == self.DAYS:
            self.day -= 1
            return f"{text} The market closes.", max(0.0, 0.5 * self.profit / self.target), False, True, {}
        return self._view(text), 0.0, False, False, {}

    def solution(self):
        lines, crate, profit = [], self.crate is not None, self.profit
        cost = self.crate or 0
        for day in range(self.day, self.DAYS):
            price = self.prices[day]
            rises = day + 1 < self.DAYS and self.prices[day + 1] > price
            if crate and not rises:
                lines.append("sell")
                crate, profit = False, profit + price - cost
            elif not crate and rises:
                lines.append("buy")
                crate, cost = True, price
            else:
                lines.append("wait")
            if profit >= self.target:
                break
        return "\n".join(f"\\boxed{{{line}}}" for line in lines)
