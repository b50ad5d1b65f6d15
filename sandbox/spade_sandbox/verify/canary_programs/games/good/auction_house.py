# expect: accepted
"""Three lots with hidden reserves; bids are answered warmer or colder, and the purse must do for all three."""
import random
import re


class AuctionEnv:
    def __init__(self, max_turns=20, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.reserve = [rng.randint(5, 60) for _ in range(3)]
        self.purse = sum(self.reserve) + 4
        self.lot, self.turns = 0, 0
        return self._view("The auction begins."), {}

    def _view(self, text):
        return f"{text} Lot {self.lot + 1} of 3, purse {self.purse}. \\boxed{{bid N}}; a bid at or above the reserve buys."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        match = re.fullmatch(r"\\boxed\{bid ([0-9]{1,3})\}", action.strip())
        if not match:
            return self._view("The auctioneer did not hear."), 0.0, False, late, {}
        bid = int(match.group(1))
        if bid > self.purse:
            return self._view("You cannot pay that."), 0.0, False, late, {}
        missing = self.reserve[self.lot] - bid
        if missing > 0:
            return self._view("Far too low." if missing > 10 else "A little low."), 0.0, False, late, {}
        self.purse -= bid
        self.lot += 1
        if self.lot == 3:
            return "All three lots are yours.", 1.0, True, False, {}
        if self.purse < sum(self.reserve[self.lot:]):
            return "Sold, but your purse will not do for the rest.", 0.1 * self.lot, True, False, {}
        return self._view("Sold."), 0.2, False, late, {}

    def solution(self):
        return "\n".join(f"\\boxed{{bid {price}}}" for price in self.reserve[self.lot:])
