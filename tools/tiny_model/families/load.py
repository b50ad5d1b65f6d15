"""Fill something to exactly the document's large number with items of hidden weight, which are its words."""

import re
from random import Random

from tools.tiny_model.documents import Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

VIEW = re.compile(r"holds (\d+) of (\d+)\. Items: ([a-z0-9=? ]+)\.")


def draft(theme: Theme, rng: Random) -> Draft:
    """One item weighs 1, two weigh much; what does not fit is refused, or tips everything out."""
    low = max(3, theme.large // 5)
    high = low + rng.randint(2, 5)
    spill = rng.random() < 0.3
    over = 'self.v, self.used, msg = 0, set(), "Too much, all spilled."' if spill else 'msg = "Does not fit."'
    return Draft(
        constants=f'goal = {theme.large}\nitems = "{theme.noun} {theme.first} {theme.second}"',
        reset=f"k = r.sample(range({low}, {high + 1}), 2) + [1]\n"
        "r.shuffle(k)\n"
        "self.w = dict(zip(self.items.split(), k))\n"
        "self.v, self.used, self.known = 0, set(), {x: '?' for x in self.w}",
        view=f"{rng.choice(('Wagon', 'Crate', 'Barrel', 'Boat'))} holds {{self.v}} of {{self.goal}}. "
        "Items: {' '.join(f'{x}={k}' for x, k in self.known.items())}. Send \\\\boxed{{item}}.",
        invalid="a not in self.w",
        step="self.known[a] = self.w[a]\n"
        "if self.v + self.w[a] > self.goal:\n"
        f"    {over}\n"
        "else:\n"
        "    self.v += self.w[a]\n"
        "    self.used.add(a)\n"
        '    msg = f"{a} weighs {self.w[a]}."',
        won="self.v == self.goal and len(self.used) > 1",
        reward=rng.choice(("0.8 * self.v / self.goal", "0.5 * self.v / self.goal")),
        solution="*_, b = w = sorted(self.w, key=self.w.get)\n"
        "k = (self.goal - 1) // self.w[b]\n"
        'return "\\n".join([b] * k + [w[0]] * (self.goal - k * self.w[b]))',
        typical_turns=7.5,
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """Weigh what is unknown, then the heaviest that fits."""
    found = VIEW.search(seen[-1])
    if not found:
        raise UnreadableGame(seen[-1])
    room = int(found[2]) - int(found[1])
    weights = dict(item.split("=") for item in found[3].split())
    unknown = [x for x, k in weights.items() if k == "?"]
    if unknown:
        return Reply("Weigh a new one.", unknown[0])
    fits = {x: int(k) for x, k in weights.items() if int(k) <= room}
    if not fits:
        return Reply("None fits.", next(iter(weights)))
    best = max(fits, key=lambda x: fits[x])
    return Reply(f"Room for {room}.", best)


def legal(observation: str) -> list[str]:
    """The items."""
    found = VIEW.search(observation)
    if not found:
        raise UnreadableGame(observation)
    return [item.split("=")[0] for item in found[3].split()]


FAMILY = Family(
    name="load",
    titles=(
        "Load",
        "Fill",
        "Weigh",
    ),
    skill="Optimization",
    mark="Items:",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=(
        "Weigh each item once, then fill up with the heaviest that fits.",
        "Use heavy items first and the light one last.",
        "The best item is the largest that still fits.",
    ),
)
