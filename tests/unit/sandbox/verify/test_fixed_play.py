"""Fixed play is made of what is shown, the solution's first move, and values that are the same from all seeds."""

from tests.unit.sandbox.verify.judged import judged

from spade_sandbox.verify import actions
from spade_sandbox.verify.fixed_play import alternating, plausible_values
from spade_sandbox.verify.moves import Look, Move
from spade_sandbox.verify.trial import Program

OPENING = r"Use \boxed{load N}, \boxed{unload N} or \boxed{wait}."


def program(*solution: str, hidden: dict[str, str] | None = None, opening: str = OPENING) -> Program:
    found = judged("class ProbeEnv: ...")
    text = "\n".join(rf"\boxed{{{move}}}" for move in solution)
    found.looks = [
        Look(seed, opening, {**(hidden or {}), "secret": str(300 + number)}, text, "")
        for number, seed in enumerate(found.seeds)
    ]
    return found


def test_first_move_alternates_with_another_command_of_the_same_form() -> None:
    subject = program("load 2", "load 1", "load 3")
    assert alternating(subject, subject.seeds[0]) == (Move(r"\boxed{load 2}"), Move(r"\boxed{unload 2}"))


def test_two_moves_that_may_be_the_solution_are_not_tried_by_turns() -> None:
    subject = program("load 2", "unload 2", "load 2")
    assert alternating(subject, subject.seeds[0]) == ()


def test_nothing_alternates_without_a_solution_or_a_command_of_its_form() -> None:
    assert alternating(program(), program().seeds[0]) == ()
    subject = program("move 1 2", "move 2 3", "move 3 1")
    assert alternating(subject, subject.seeds[0]) == ()


def test_values_are_those_of_all_seeds_and_never_a_seeds_own() -> None:
    values = plausible_values(program(hidden={"heat": "20", "turns": "7", "name": "'oak'"}))
    assert values[0] == "20"
    assert not {"7", "300", "'oak'"} & set(values)
    assert len(values) <= 3


def test_every_place_of_a_shown_command_is_filled() -> None:
    assert actions.has_places("heat N")
    assert not actions.has_places("wait")
    assert actions.filled("move X Y", "3") == "move 3 3"
