"""Held out: find the two cards of each word by turning cards one after the other."""

import re
from random import Random

from tools.tiny_model.documents import Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

VIEW = re.compile(r"Cards: ([a-z0-9 ]+)\. Open: (\w+)\.")


def draft(theme: Theme, rng: Random) -> Draft:
    """Three words twice, face down; a card shows its word for good once its pair is found."""
    return Draft(
        constants=f'words = "{theme.noun} {theme.first} {theme.second}"',
        reset="self.cards = self.words.split() * 2\nr.shuffle(self.cards)\nself.done, self.open = set(), None",
        view="Cards: {' '.join(w if w in self.done else str(i) for i, w in enumerate(self.cards))}. "
        "Open: {'none' if self.open is None else self.cards[self.open]}. Send \\\\boxed{{card}}.",
        invalid='a not in "0 1 2 3 4 5".split() or self.cards[int(a)] in self.done or int(a) == self.open',
        step="w = self.cards[int(a)]\n"
        "if self.open is None:\n"
        '    self.open, msg = int(a), f"Card {a} is {w}."\n'
        "elif self.cards[self.open] == w:\n"
        "    self.done.add(w)\n"
        '    self.open, msg = None, "A pair."\n'
        "else:\n"
        '    self.open, msg = None, f"Card {a} is {w}, no pair."',
        won="len(self.done) == 3",
        reward="0.3 * len(self.done)",
        solution='return "\\n".join(str(i) for w in self.words.split() for i, x in enumerate(self.cards) if x == w)',
        typical_turns=10,
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """The card known to match the open one; a card not yet seen otherwise."""
    found = VIEW.search(seen[-1])
    if not found:
        raise UnreadableGame(seen[-1])
    known = {m[1]: m[2] for text in seen for m in re.finditer(r"Card (\d) is (\w+)", text)}
    closed = [c for c in found[1].split() if c.isdecimal()]
    opened = next((c for c in closed if found[2] != "none" and actions and c == actions[-1]), None)
    match = [c for c in closed if c != opened and known.get(c) == found[2]]
    fresh = [c for c in closed if c not in known and c != opened] or [c for c in closed if c != opened]
    choice = (match or fresh)[0]
    return Reply("Match it." if match else "Try a new card.", choice)


def legal(observation: str) -> list[str]:
    """The cards that are face down."""
    found = VIEW.search(observation)
    if not found:
        raise UnreadableGame(observation)
    return [c for c in found[1].split() if c.isdecimal()]


FAMILY = Family(
    name="pairs",
    titles=("Pairs",),
    skill="Memory Recall",
    mark="Cards:",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=("Remember each card you saw.",),
)
