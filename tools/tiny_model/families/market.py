"""Held out: trade at a price that moves between hidden bounds until the purse holds the document's large number."""

import re
from random import Random

from tools.tiny_model.documents import Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

VIEW = re.compile(r"Price (\d+), purse (\d+), stock (\d+)")


def draft(theme: Theme, rng: Random) -> Draft:
    """Prices swing with a hidden period; buying low and selling high wins."""
    return Draft(
        constants=f"goal = {theme.large}\nstart = {theme.large * 2 // 3}",
        reset="self.p = r.sample(range(2, 9), 3)\nself.gold, self.stock, self.i = self.start, 0, 0",
        view=f"Price {{self.p[self.i]}}, purse {{self.gold}}, stock {{self.stock}} {theme.noun}s, goal {{self.goal}}. "
        "Moves: buy sell wait. Send \\\\boxed{{move}}.",
        invalid='a not in ("buy", "sell", "wait")',
        step="x = self.p[self.i]\n"
        'if a == "buy":\n'
        "    k = self.gold // x\n"
        "    self.gold, self.stock = self.gold - k * x, self.stock + k\n"
        'elif a == "sell":\n'
        "    self.gold, self.stock = self.gold + self.stock * x, 0\n"
        'self.i, msg = (self.i + 1) % 3, "The price moved."',
        won="self.gold >= self.goal",
        reward="0.9 * min(1, self.gold / self.goal) ** 2 * 0.9",
        solution='return "\\n".join(["wait"] * self.p.index(min(self.p)) + ["buy"] '
        '+ ["wait"] * ((self.p.index(max(self.p)) - self.p.index(min(self.p)) - 1) % 3) + ["sell"])',
        typical_turns=6,
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """Watch three prices, then buy at the lowest and sell at the highest."""
    prices = [int(m[1]) for m in map(VIEW.search, seen) if m]
    found = VIEW.search(seen[-1])
    if not found:
        raise UnreadableGame(seen[-1])
    if len(prices) < 4:
        return Reply("Watch.", "wait")
    if prices[-1] == min(prices) and found[3] == "0":
        return Reply("Low price.", "buy")
    if prices[-1] == max(prices) and found[3] != "0":
        return Reply("High price.", "sell")
    return Reply("Wait.", "wait")


def legal(observation: str) -> list[str]:
    """The three moves."""
    return ["buy", "sell", "wait"]


FAMILY = Family(
    name="market",
    titles=("Trade",),
    skill="Strategic Planning",
    mark="purse",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=("Buy at the lowest price and sell at the highest.",),
)
