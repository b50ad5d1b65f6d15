"""A hidden cycle of words to be predicted several times in a row. The words are the document's."""

import itertools
import re
from random import Random

from tools.tiny_model.documents import Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

SEEN = re.compile(r"Seen: ([a-z -]+)\. Next of: ([a-z ]+)\?")


def draft(theme: Theme, rng: Random) -> Draft:
    """Two or three words repeat in one order; neighbours differ, so one word said always never makes a row.

    The noun has a fixed place among the words: a model of this size otherwise writes it twice.
    """
    words = [theme.first, theme.second]
    if rng.random() < 0.6:
        words.append(theme.noun)
    streak = rng.choice((3, 3, 4))
    length = "len(self.all)" if rng.random() < 0.5 else "r.randint(2, len(self.all))"
    return Draft(
        constants=f'words = "{" ".join(words)}"\nneed = {streak}',
        reset="self.all = sorted(set(self.words.split()))\n"
        f"self.p = r.sample(self.all, {length})\n"
        'self.s, self.seen = 0, ["-"]',
        view=f"The {theme.noun} row {{self.s}} of {{self.need}}. Seen: {{' '.join(self.seen[-5:])}}. "
        "Next of: {' '.join(self.all)}? Send \\\\boxed{{word}}.",
        invalid="a not in self.all",
        step="x = self.p[len(self.seen) % len(self.p)]\n"
        "self.seen.append(x)\n"
        "self.s = self.s + 1 if a == x else 0\n"
        'msg = "Yes." if a == x else f"No, {x}."',
        won="self.s == self.need",
        reward=rng.choice(("0.9 * self.s / self.need", "0.2 * self.s", "self.s / (self.need + 1)")),
        solution='return "\\n".join(self.p[i % len(self.p)] for i in range(1, 9))',
        typical_turns=streak + len(words) + 0.5,
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """What came after the last word before; an unused word if nothing did."""
    found = SEEN.search(seen[-1])
    if not found:
        raise UnreadableGame(seen[-1])
    shown, words = found[1].split(), found[2].split()
    last = shown[-1]
    after = [b for a, b in itertools.pairwise(shown) if a == last]
    if after and last != "-":
        return Reply(f"After {last} comes {after[-1]}.", after[-1])
    fresh = [w for w in words if w not in shown] or [w for w in words if w != last]
    return Reply("Not known yet.", rng.choice(fresh or words))


def legal(observation: str) -> list[str]:
    """The words of the cycle."""
    found = SEEN.search(observation)
    if not found:
        raise UnreadableGame(observation)
    return found[2].split()


FAMILY = Family(
    name="cycle",
    titles=(
        "Cycle",
        "Pattern",
        "Streak",
    ),
    skill="Pattern Recognition",
    mark="Seen:",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=(
        "The words repeat in a fixed cycle.",
        "Look what followed the same word before.",
        "The order never changes, so copy what came after the last word.",
    ),
)
