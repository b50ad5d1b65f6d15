"""What the families of games share: the frame of a program, and the shape of a scripted player.

A family says how its games are written (`draft`) and how they are played well from what the player has seen (`expert`).
The program is text for a language model to learn from, so it is short and says each constant once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from string import Template

from tools.tiny_model.documents import Theme

TURN_LIMIT = 12
FRAME = Template("""import random
class ${name}Env:
    $constants
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = min(max_turns, $turns)
        self.reset()
    def reset(self, seed=None):
        r = random.Random(seed)
        self.t = 0
$reset
        return self.view("$begin"), {}
    def view(self, msg):
        return f"{msg} $view"
    def step(self, action):
        self.t += 1
        end = self.t >= self.max_turns
        a = action.split("{")[-1].split("}")[0].strip()[:9]
        if $invalid:
            return self.view("$help"), 0.0, False, end, {}
$step
        if $won:
            return self.view("$win"), 1.0, True, False, {}
        return self.view(msg), round($reward, 2), False, end, {}
    def solution(self):
$solution
    def close(self):
        pass""")
BEGIN = ("Begin.", "Start.", "Your turn.", "Go.")
WIN = ("You win!", "Solved!", "Done!", "Well played!")
HELP = ("Not a valid move.", "Bad action.", "That is no move.", "Invalid.")


@dataclass(frozen=True)
class Draft:
    """The parts of a program that a family decides; lines are not indented, view is the inside of an f-string.

    typical_turns: turns that a good player needs on average, from which the turn limit follows.
    """

    constants: str
    reset: str
    view: str
    invalid: str
    step: str
    won: str
    reward: str
    solution: str
    typical_turns: float


@dataclass(frozen=True)
class Reply:
    """What a scripted player says: a short thought and the action that follows from it."""

    thought: str
    action: str


Seen = list[str]
"""Observations so far, oldest first; the last one is to be answered."""


@dataclass(frozen=True)
class Family:
    """One kind of game. expert raises UnreadableGame on observations that are not of its kind."""

    name: str
    titles: tuple[str, ...]
    """Names of its classes, without Env."""
    skill: str
    mark: str
    """A phrase that every observation of the family contains."""
    draft: Callable[[Theme, Random], Draft]
    expert: Callable[[Seen, list[str], Random], Reply]
    legal: Callable[[str], list[str]]
    """Legal actions at an observation."""
    hints: tuple[str, ...]


class UnreadableGame(ValueError):
    """The observation is not of the family's form."""


def indent(lines: str) -> str:
    """Lines at the depth of a method's body."""
    return "\n".join("        " + line for line in lines.split("\n"))


def turn_limit(typical: float, difficulty: str, rng: Random) -> int:
    """Few spare turns for hard games, more for easy ones; never above TURN_LIMIT."""
    spare = {"easy": 2.0, "medium": 1.0, "hard": 0.0}[difficulty]
    return max(3, min(TURN_LIMIT, round(typical + spare + rng.choice((0.0, 1.0)))))


def write_program(family: "Family", theme: Theme, difficulty: str, rng: Random) -> str:
    """The text of one program of a family."""
    draft = family.draft(theme, rng)
    return FRAME.substitute(
        name=rng.choice(family.titles),
        constants=draft.constants.replace("\n", "\n    "),
        turns=turn_limit(draft.typical_turns, difficulty, rng),
        reset=indent(draft.reset),
        begin=rng.choice(BEGIN),
        view=draft.view,
        invalid=draft.invalid,
        help=rng.choice(HELP),
        step=indent(draft.step),
        won=draft.won,
        win=rng.choice(WIN),
        reward=draft.reward,
        solution=indent(draft.solution),
    )
