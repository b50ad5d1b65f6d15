"""Levers with hidden effects. The document's small number says how many there are."""

import re
from random import Random

from tools.tiny_model.documents import Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

LIT = re.compile(r"Lit: ([\d ]+|none)\. Off: ([\d ]+|none)\.")


def draft(theme: Theme, rng: Random) -> Draft:
    """One lever breaks what was done: it darkens everything, or the lamp lit last. All others must be lit."""
    thing = rng.choice((theme.noun, theme.first))
    total = rng.random() < 0.6
    harm = "self.on = []" if total else "self.on = self.on[:-1]"
    said = "All dark." if total else "One went dark."
    count = theme.small - (1 if theme.small <= 6 or rng.random() < 0.3 else 2)
    return Draft(
        constants=f"n = {theme.small}\nneed = {count}",
        reset="self.all = [str(i + 1) for i in range(self.n)]\nself.bad = r.choice(self.all)\nself.on = []",
        view=f"Light {{self.need}} {thing} lamps. Lit: {{' '.join(self.on) or 'none'}}. "
        "Off: {' '.join(x for x in self.all if x not in self.on)}. Send \\\\boxed{{lever}}.",
        invalid="a not in self.all",
        step="if a == self.bad:\n"
        f'    {harm}\n    msg = f"Lever {{a}}: {said}"\n'
        "elif a in self.on:\n"
        '    msg = f"Lever {a} did nothing."\n'
        "else:\n"
        '    self.on.append(a)\n    msg = f"Lever {a} lit."',
        won="len(self.on) == self.need",
        reward=rng.choice(
            ("0.9 * len(self.on) / self.n", "0.6 * len(self.on) / self.n", "len(self.on) / (self.n + 1)")
        ),
        solution='return "\\n".join(x for x in self.all if x != self.bad)',
        typical_turns=count + (1 + count / 2.5 if total else 1.2),
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """The first lever that is off and has not done harm."""
    off = legal(seen[-1])
    harmful = {a for a, o in zip(actions, seen[1:], strict=False) if " dark." in o}
    good = [x for x in off if x not in harmful] or off
    bad = sorted(harmful)
    return Reply(f"Lever {bad[0]} is bad." if bad else "None bad yet.", good[0])


def legal(observation: str) -> list[str]:
    """The levers that are off."""
    found = LIT.search(observation)
    if not found:
        raise UnreadableGame(observation)
    return found[2].split()


FAMILY = Family(
    name="levers",
    titles=(
        "Levers",
        "Lamps",
        "Switch",
    ),
    skill="Causal Inference",
    mark="Lit:",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=(
        "One lever undoes your work; do not pull it twice.",
        "Pull the levers that are off and avoid the bad one.",
        "Remember which lever made it dark.",
    ),
)
