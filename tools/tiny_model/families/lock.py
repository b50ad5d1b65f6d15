"""A lock with different digits, opened one digit at a time. The document's small number is the highest digit."""

import re
from random import Random

from tools.tiny_model.documents import Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

LEFT = re.compile(r"Untried: ([\d ]+)\.")


def draft(theme: Theme, rng: Random) -> Draft:
    """Wrong digits leave the list; some locks also say whether the digit was too low or too high."""
    digits = 2 if theme.small > 5 or rng.random() < 0.5 else 3
    told = rng.random() < 0.4
    wrong = (
        'self.left.remove(a)\n    msg = "Too low." if a < self.key[self.i] else "Too high."'
        if told
        else 'self.left.remove(a)\n    msg = "Wrong."'
    )
    typical = sum((theme.small - i + 1) / 2 for i in range(digits))
    return Draft(
        constants=f"top = {theme.small}\nsize = {digits}",
        reset="self.all = [str(i + 1) for i in range(self.top)]\n"
        "self.key = r.sample(self.all, self.size)\n"
        "self.left, self.i = self.all[:], 0",
        view=f"The {theme.noun} lock, digit {{self.i + 1}} of {{self.size}}. "
        "Untried: {' '.join(self.left)}. Send \\\\boxed{{digit}}.",
        invalid="a not in self.left",
        step="if a == self.key[self.i]:\n"
        "    self.i += 1\n"
        "    self.left = [x for x in self.all if x not in self.key[:self.i]]\n"
        '    msg = "Right."\n'
        "else:\n"
        f"    {wrong}",
        won="self.i == self.size",
        reward=rng.choice(("0.9 * self.i / self.size", "self.i / (self.size + 1)", "0.2 * self.i")),
        solution='return "\\n".join(self.key)',
        typical_turns=min(typical, digits * 2.5) if told else typical - 0.5,
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """Take an untried digit, on the right side of the last one if the lock told which."""
    left = legal(seen[-1])
    last = int(actions[-1]) if actions and actions[-1].isdecimal() else 0
    if "Too low" in seen[-1] and actions:
        good = [d for d in left if int(d) > last] or left
        return Reply(f"Above {last}.", good[len(good) // 2])
    if "Too high" in seen[-1] and actions:
        good = [d for d in left if int(d) < last] or left
        return Reply(f"Below {last}.", good[len(good) // 2])
    return Reply(f"{len(left)} untried.", left[len(left) // 2])


def legal(observation: str) -> list[str]:
    """The untried digits."""
    found = LEFT.search(observation)
    if not found:
        raise UnreadableGame(observation)
    return found[1].split()


FAMILY = Family(
    name="lock",
    titles=(
        "Lock",
        "Digits",
        "Safe",
    ),
    skill="Logical Deduction",
    mark="Untried:",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=(
        "Digits never repeat, so try only untried ones.",
        "Use each answer to rule digits out.",
        "Pick from the untried digits and mind too low or too high.",
    ),
)
