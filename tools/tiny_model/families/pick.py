"""Two hidden words among a sorted few, found by before and after. The choices hold the document's words."""

import re
from random import Random

from tools.tiny_model.documents import NOUNS, Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

LEFT = re.compile(r"one of: ([a-z ]+)\.")


def draft(theme: Theme, rng: Random) -> Draft:
    """The document's three words and up to four others; a wrong word halves the list or only leaves it."""
    others = rng.sample([w for w in NOUNS if w not in (theme.noun, theme.first, theme.second)], rng.randint(1, 4))
    words = sorted({theme.noun, theme.first, theme.second, *others})
    ordered = rng.random() < 0.6
    wrong = (
        "elif a < x:\n"
        '    self.left, msg = [w for w in self.left if w > a], "It is after that."\n'
        "else:\n"
        '    self.left, msg = [w for w in self.left if w < a], "It is before that."'
        if ordered
        else 'else:\n    self.left.remove(a)\n    msg = "Not that one."'
    )
    each = (len(words) ** 0.6) if ordered else (len(words) + 1) / 2
    return Draft(
        constants=f'words = "{" ".join(words)}"',
        reset="self.all = sorted(set(self.words.split()))\n"
        "self.x = r.sample(self.all, 2)\n"
        "self.left, self.i = self.all[:], 0",
        view=f"The {theme.noun} has {{self.i}} of 2 words. Hidden is one of: {{' '.join(self.left)}}. "
        "Send \\\\boxed{{word}}.",
        invalid="a not in self.left",
        step='x = self.x[self.i]\nif a == x:\n    self.i += 1\n    self.left, msg = self.all[:], "Found."\n' + wrong,
        won="self.i == 2",
        reward=rng.choice(("0.4 * self.i", "self.i / 3", "0.3 * self.i + 0.1")),
        solution='return "\\n".join(self.x)',
        typical_turns=2 * each - 1.5,
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """The word in the middle of those left."""
    left = legal(seen[-1])
    return Reply(f"{len(left)} words left.", left[len(left) // 2])


def legal(observation: str) -> list[str]:
    """The words left."""
    found = LEFT.search(observation)
    if not found:
        raise UnreadableGame(observation)
    return found[1].split()


FAMILY = Family(
    name="pick",
    titles=(
        "Pick",
        "Words",
        "Hidden",
    ),
    skill="Logical Deduction",
    mark="Hidden is",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=(
        "Words are sorted, so try the middle one.",
        "Choose the word in the middle of the list.",
        "Each answer cuts the list; pick from what is left.",
    ),
)
