"""A walk to a hidden place in a field. The document's small number is the width."""

import re
from random import Random

from tools.tiny_model.documents import Theme
from tools.tiny_model.families.base import Draft, Family, Reply, Seen, UnreadableGame

PLACE = re.compile(r"at (\d+),(\d+) of (\d+),(\d+)\. Moves: (\w+) (\w+) (\w+) (\w+)")
NAMES = (("up", "down", "left", "right"), ("north", "south", "west", "east"))


def draft(theme: Theme, rng: Random) -> Draft:
    """After a move the player hears the distance, warmer or colder, or one direction that helps."""
    up, down, left, right = rng.choice(NAMES)
    height = rng.randint(1, 4)
    kind = rng.choice(("distance", "warmth", "pointer"))
    before = "old = abs(self.x - self.gx) + abs(self.y - self.gy)\n" if kind == "warmth" else ""
    message = {
        "distance": 'msg = f"Distance {d}."',
        "warmth": 'msg = "Warmer." if d < old else "Colder."',
        "pointer": f'msg = "Go {right}." if self.x < self.gx else "Go {left}." '
        'if self.x > self.gx else "Right column."',
    }[kind]
    return Draft(
        constants=f"w = {theme.small}\nh = {height}",
        reset="self.x = self.y = 0\nself.gx, self.gy = r.randint(1, self.w), r.randint(1, self.h)",
        view=f"Find the {theme.noun}. You are at {{self.x}},{{self.y}} of {{self.w}},{{self.h}}. "
        f"Moves: {up} {down} {left} {right}. Send \\\\boxed{{{{move}}}}.",
        invalid=f'a not in "{up} {down} {left} {right}".split()',
        step=before + f'self.x = max(0, min(self.w, self.x + (a == "{right}") - (a == "{left}")))\n'
        f'self.y = max(0, min(self.h, self.y + (a == "{up}") - (a == "{down}")))\n'
        "d = abs(self.x - self.gx) + abs(self.y - self.gy)\n" + message,
        won="d == 0",
        reward=rng.choice(("0.5 / (1 + d)", "0.8 / (1 + d)", "0.9 - d / 20")),
        solution=f'return "\\n".join(["{right}"] * self.gx + ["{up}"] * self.gy)',
        typical_turns=(theme.small + 1) / 2 + (height + 1) / 2 + 2.5,
    )


def expert(seen: Seen, actions: list[str], rng: Random) -> Reply:
    """Go on while it gets better, turn to the other axis when it gets worse."""
    x, y, width, height, moves = _place(seen[-1])
    up, down, left, right = moves
    text = seen[-1]
    if "Go " + right in text:
        return Reply(f"Go {right}.", right)
    if "Go " + left in text:
        return Reply(f"Go {left}.", left)
    if "Right column" in text:
        climbing = y < height and not (actions and actions[-1] == down)
        return Reply("Column is right.", up if climbing else down)
    if not actions:
        return Reply("Try one way.", right)
    last = actions[-1]
    worse = "Colder" in text or (
        "Distance" in text and "Distance" in seen[-2] and _distance(text) >= _distance(seen[-2])
    )
    if not worse and not _blocked(last, x, y, width, height, moves):
        return Reply("Better, go on.", last)
    if last == right:
        return Reply("Turn.", up if y < height else left)
    if last == up:
        return Reply("Turn.", down if worse else right)
    return Reply("Turn.", left if last == down else up)


def _distance(text: str) -> int:
    return int(text.split("Distance ")[1].split(".", maxsplit=1)[0])


def _blocked(move: str, x: int, y: int, width: int, height: int, moves: list[str]) -> bool:
    up, down, left, right = moves
    return (move, True) in ((right, x >= width), (left, x <= 0), (up, y >= height), (down, y <= 0))


def _place(observation: str) -> tuple[int, int, int, int, list[str]]:
    found = PLACE.search(observation)
    if not found:
        raise UnreadableGame(observation)
    x, y, width, height = (int(found[i]) for i in range(1, 5))
    return x, y, width, height, [found[i] for i in range(5, 9)]


def legal(observation: str) -> list[str]:
    """The four moves."""
    return _place(observation)[4]


FAMILY = Family(
    name="walk",
    titles=(
        "Walk",
        "Field",
        "Seek",
    ),
    skill="Spatial Reasoning",
    mark="You are at",
    draft=draft,
    expert=expert,
    legal=legal,
    hints=(
        "Keep a direction while it gets better, then turn.",
        "First fix the column, then the row.",
        "Go on when you get closer; turn when you do not.",
    ),
)
