"""Programs of the procedural families (method.md §10): our own text, played in sandboxes like any other."""

from importlib.resources import files

from spade_contracts.config.families import MAX_DIFFICULTY, Family
from spade_contracts.errors import InvalidInput

FOLDER = "families"
HEAD = "_single_turn.py"
DIFFICULTY = "DIFFICULTY = 0\n"
"""The line of the head that a program of another level has otherwise."""


def family_program(family: Family, difficulty: int) -> str:
    """The environment program of a family at a level from 0 to 20: one question, one boxed answer, reward 1 or 0.

    Equal arguments give equal text. Raises InvalidInput for another level.
    """
    if not 0 <= difficulty <= MAX_DIFFICULTY:
        raise InvalidInput("difficulty", f"{difficulty} is no level", remedy=f"Use 0 to {MAX_DIFFICULTY}.")
    folder = files("spade_trainer.design").joinpath(FOLDER)
    head = folder.joinpath(HEAD).read_text(encoding="utf-8")
    own = folder.joinpath(f"{family.name.lower()}.py").read_text(encoding="utf-8")
    title, _, body = own.partition("\n")
    leveled = head.replace(DIFFICULTY, f"DIFFICULTY = {difficulty}\n")
    return f"{title}\n\n{leveled}{body}"
