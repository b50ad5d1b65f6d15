"""Programs of the procedural families (method.md §10): our own text, played in sandboxes like any other."""

from collections.abc import Collection, Iterator
from importlib.resources import files

from spade_contracts.config import MethodConfig
from spade_contracts.config.families import MAX_DIFFICULTY, Family
from spade_contracts.errors import InvalidInput
from spade_contracts.verdicts import Stage
from spade_trainer.design.adaptive import levels_of
from spade_trainer.play.tokens import begin, finish
from spade_trainer.store.designs import Design, facts_text
from spade_trainer.store.objects import Store

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


def family_designs(store: Store, method: MethodConfig, cycle: int, slots: Collection[int]) -> Iterator[Design]:
    """The designs of these slots: one family each, without tokens, so that nothing of them is trained, and no hint.

    Raises ManifestMissing if an earlier rollout is not finished.
    """
    levels = levels_of(store, method, cycle) if slots else ()
    for slot in slots:
        family, level = method.environments.families.names[slot], levels[slot]
        yield Design(
            cycle=cycle,
            slot=slot,
            attempt=0,
            skill=family.value,
            document_id=f"{family}/{level}",
            trajectory=finish(begin([])),
            program=family_program(family, level),
            stage=Stage.ACCEPTED.value,
            reason="",
            message="",
            evidence="[]",
            facts=facts_text({"difficulty": float(level)}),
            hint=None,
            hint_tokens=0,
        )
