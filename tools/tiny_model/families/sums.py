"""A running total, up to the document's large number or from it down to nothing."""

import math
import re
from random import Random

from tools.tiny_model.documents import Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

ASK = re.compile(r"now (\d+)\. (Add|Take) (\d+)")


def draft(theme: Theme, rng: Random) -> Draft:
    """Numbers up to `top` are added or taken away one at a time; a wrong total changes nothing but the turn."""
    top = rng.randint(max(4, math.ceil(2 * theme.large / 9 - 2)), 12)
    up = rng.random() < 0.6
    word, sign = ("Add", "+") if up else ("Take", "-")
    return Draft(
        constants=f"goal = {theme.large}\ntop = {top}",
        reset="self.q = [r.randint(2, self.top) for _ in range(20)]\n"
        + ("self.v, self.i = 0, 0" if up else "self.v, self.i = self.goal, 0"),
        view=f"The {theme.noun} is now {{self.v}}. {word} {{self.q[self.i]}}, "
        + ("goal {self.goal}. " if up else "down to 0. ")
        + "Send \\\\boxed{{total}}.",
        invalid="not a.isdecimal()",
        step=f"n = self.v {sign} self.q[self.i]\n"
        + ("" if up else "n = max(0, n)\n")
        + "if int(a) == n:\n"
        + '    self.v, self.i, msg = n, self.i + 1, "Right."\n'
        + "else:\n"
        + '    msg = "Wrong."'
        + rng.choice(("", "\n    self.q.insert(self.i, self.q.pop())")),
        won="self.v >= self.goal" if up else "self.v == 0",
        reward="0.9 * self.v / self.goal" if up else "0.9 - 0.9 * self.v / self.goal",
        solution='return "\\n".join(str(sum(self.q[:i + 1])) for i in range(20))'
        if up
        else 'return "\\n".join(str(max(0, self.goal - sum(self.q[:i + 1]))) for i in range(20))',
        typical_turns=theme.large / (1 + top / 2) + 1.5,
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """Work out the new total."""
    found = ASK.search(seen[-1])
    if not found:
        raise UnreadableGame(seen[-1])
    value, change = int(found[1]), int(found[3])
    total = value + change if found[2] == "Add" else max(0, value - change)
    sign = "+" if found[2] == "Add" else "-"
    return Reply(f"{value} {sign} {change} is {total}.", str(total))


def legal(observation: str) -> list[str]:
    """Totals near the present one."""
    found = ASK.search(observation)
    if not found:
        raise UnreadableGame(observation)
    return [str(n) for n in range(max(0, int(found[1]) - 9), int(found[1]) + 10)]


FAMILY = Family(
    name="sums",
    titles=(
        "Sums",
        "Total",
        "Ledger",
    ),
    skill="Mathematical Reasoning",
    mark="is now",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=(
        "Work out the new total each turn.",
        "Send the total after the change, not the change.",
        "Add or take the number from the value shown.",
    ),
)
