"""A number that grows by a hidden step, to be predicted several times in a row. The small number bounds the step."""

import itertools
import re
from random import Random

from tools.tiny_model.documents import Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

ROW = re.compile(r"Row: ([\d ]+)\.")


def draft(theme: Theme, rng: Random) -> Draft:
    """The row goes on whether the guess was right or not; two right guesses in a row are never the same number."""
    need = rng.choice((2, 3, 3))
    alternate = rng.random() < 0.4
    grow = "self.d[len(self.row) % 2]" if alternate else "self.d"
    return Draft(
        constants=f"top = {theme.small}\nneed = {need}",
        reset=(
            "self.d = [r.randint(1, self.top), r.randint(1, self.top)]\n"
            if alternate
            else "self.d = r.randint(1, self.top)\n"
        )
        + "self.s, self.row = 0, [r.randint(1, 9)]",
        view=f"The {theme.noun} streak {{self.s}} of {{self.need}}. Row: {{' '.join(map(str, self.row[-4:]))}}. "
        "Steps are 1 to {self.top}. Send \\\\boxed{{next}}.",
        invalid="not a.isdecimal()",
        step=f"x = self.row[-1] + {grow}\n"
        "self.row.append(x)\n"
        "self.s = self.s + 1 if int(a) == x else 0\n"
        'msg = "Yes." if int(a) == x else f"No, {x}."',
        won="self.s == self.need",
        reward=rng.choice(("0.9 * self.s / self.need", "0.2 * self.s", "self.s / (self.need + 1)")),
        solution=(
            'return "\\n".join(str(self.row[-1] + sum(self.d[(len(self.row) + j) % 2] for j in range(i))) '
            "for i in range(1, 6))"
            if alternate
            else 'return "\\n".join(str(self.row[-1] + self.d * i) for i in range(1, 6))'
        ),
        typical_turns=need + (3 if alternate else 2.5),
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """Add the last step but one if the steps alternate, the last one otherwise."""
    found = ROW.search(seen[-1])
    if not found:
        raise UnreadableGame(seen[-1])
    row = [int(n) for n in found[1].split()]
    gaps = [b - a for a, b in itertools.pairwise(row)]
    if not gaps:
        return Reply("Not known yet.", str(row[-1] + 2))
    gap = gaps[-2] if len(gaps) > 1 else gaps[-1]
    return Reply(f"{row[-1]} + {gap} is {row[-1] + gap}.", str(row[-1] + gap))


def legal(observation: str) -> list[str]:
    """Numbers a little above the last one."""
    found = ROW.search(observation)
    if not found:
        raise UnreadableGame(observation)
    last = int(found[1].split()[-1])
    return [str(last + i) for i in range(1, 9)]


FAMILY = Family(
    name="steps",
    titles=(
        "Steps",
        "Row",
        "Series",
    ),
    skill="Pattern Recognition",
    mark="Row:",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=(
        "The gaps between the numbers repeat.",
        "Find the gap, then add it to the last number.",
        "Compare neighbours in the row and add the same step.",
    ),
)
