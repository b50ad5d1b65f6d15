"""Two hidden numbers, found one after the other by higher and lower. The document's large number is the range."""

import math
import re
from random import Random

from tools.tiny_model.documents import Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

RANGE = re.compile(r"(\d+) to (\d+)\. Guess")


def draft(theme: Theme, rng: Random) -> Draft:
    """A range from 1 (or a small start) to the large number; the view repeats the bounds that are left."""
    low = rng.choice((1, 1, 0, theme.small))
    up, down = rng.choice((("Higher.", "Lower."), ("Too low.", "Too high."), ("Go up.", "Go down.")))
    return Draft(
        constants=f"low = {low}\nhigh = {theme.large}",
        reset="self.x = r.sample(range(self.low, self.high + 1), 2)\nself.a, self.b, self.i = self.low, self.high, 0",
        view=f"The {theme.noun} {{self.i}} of 2 found. Next is in {{self.a}} to {{self.b}}. "
        "Guess \\\\boxed{{number}}.",
        invalid="not a.isdecimal()",
        step="n, x = int(a), self.x[self.i]\n"
        "if n == x:\n"
        "    self.i += 1\n"
        '    self.a, self.b, msg = self.low, self.high, "Right."\n'
        "elif n < x:\n"
        f'    self.a, msg = max(self.a, n + 1), "{up}"\n'
        "else:\n"
        f'    self.b, msg = min(self.b, n - 1), "{down}"',
        won="self.i == 2",
        reward=rng.choice(("0.4 * self.i", "0.3 * self.i", "self.i / 3")),
        solution='return "\\n".join(map(str, self.x))',
        typical_turns=2 * (math.log2(theme.large - low + 2) - 0.8),
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """Halve what is left."""
    found = RANGE.search(seen[-1])
    if not found:
        raise UnreadableGame(seen[-1])
    low, high = int(found[1]), int(found[2])
    middle = (low + high) // 2
    return Reply(f"Middle of {low} and {high}.", str(middle))


def legal(observation: str) -> list[str]:
    """All numbers of the range that is left."""
    found = RANGE.search(observation)
    if not found:
        raise UnreadableGame(observation)
    return [str(n) for n in range(int(found[1]), int(found[2]) + 1)]


FAMILY = Family(
    name="search",
    titles=(
        "Search",
        "Halves",
        "Range",
    ),
    skill="Mathematical Reasoning",
    mark="Next is in",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=(
        "Halve the range each time.",
        "Guess the middle of the range that is left.",
        "Always send the number halfway between the two bounds.",
    ),
)
