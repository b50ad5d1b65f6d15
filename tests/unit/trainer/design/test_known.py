"""Programs are compared with all of the run, and those of one cycle with each other in the order of their slots."""

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.trainer.builders import design, method, write_cycle

from spade_contracts.config import VerificationSettings
from spade_contracts.config.method import Profile
from spade_trainer.design.known import earlier_programs, told_apart
from spade_trainer.store.objects import open_store

GAME = """
class {name}Env:
    def reset(self, seed=None):
        self.turns = 0
        self.target = random.Random(seed).randint(1, {high})
        return "Guess the number.", {{}}

    def step(self, action):
        self.turns += 1
        word = action.strip()
        won = word == str(self.target)
        return ("Yes." if won else "No."), float(won), won, self.turns > {turns}, {{}}
"""
OTHER = """
class WalkEnv:
    def reset(self, seed=None):
        self.place, self.path = [0, 0], []
        for _ in range(5):
            self.path.append(random.choice("NESW"))
        return "Find home.", {}

    def step(self, action):
        if action in "NS":
            self.place[0] += 1 if action == "N" else -1
        elif action in "EW":
            self.place[1] += 1 if action == "E" else -1
        done = self.place == [self.path.count("N") - self.path.count("S"), self.path.count("E") - self.path.count("W")]
        return str(self.place), float(done), done, False, {}
"""
ONE, RENAMED = GAME.format(name="Guess", high=50, turns=9), GAME.format(name="Number", high=50, turns=9)
NEAR = GAME.format(name="Guess", high=60, turns=9)


def kinds(*programs: str, **changes: Any) -> list[str]:
    """What becomes of accepted programs in slots 0, 1, …"""
    designs = [design(1, slot, "A", program) for slot, program in enumerate(programs)]
    novelty = {"near": 0.8, **changes.pop("novelty", {})}
    rules = method(environments={"verification": {"novelty": novelty, **changes}}).environments.verification
    return [f"{d.stage}/{d.reason}".rstrip("/") for d in told_apart(designs, rules)]


def test_of_two_alike_the_one_of_the_lower_slot_stays() -> None:
    assert kinds(ONE, OTHER, RENAMED) == ["accepted", "accepted", "novelty/duplicate"]
    assert kinds(ONE, NEAR) == ["accepted", "novelty/near_duplicate"]


def test_near_ones_stay_where_the_setting_says_so_and_all_where_the_stage_is_off() -> None:
    assert kinds(ONE, NEAR, RENAMED, novelty={"reject": "Exact"}) == ["accepted", "accepted", "novelty/duplicate"]
    assert kinds(ONE, ONE, stages=()) == ["accepted", "accepted"]


def test_a_rejected_program_is_nobodys_duplicate() -> None:
    other = design(1, 0, "A", ONE)
    failed = type(other)(**{**vars(other), "stage": "order", "reason": "wins_truncated"})
    apart = told_apart([failed, design(1, 1, "A", ONE)], VerificationSettings())
    assert [d.stage for d in apart] == ["order", "accepted"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([ONE, RENAMED, NEAR, OTHER]), max_size=6))
def test_exactly_one_of_each_kind_is_left(programs: list[str]) -> None:
    left = kinds(*programs).count("accepted")
    assert left == len({program == OTHER for program in programs})


def test_the_run_before_is_known_and_the_cycle_itself_is_not(tmp_path: Path) -> None:
    store = open_store(tmp_path.as_uri())
    write_cycle(store, 0, [design(0, 0, "A", ONE)])
    write_cycle(store, 1, [design(1, 0, "A", OTHER)])
    known = earlier_programs(store, method(), 1)
    assert known is not None
    match = known.nearest(RENAMED, near=0.9)
    assert match is not None
    assert (match.name, match.exact) == ("c0000-s000", True)
    assert known.nearest(OTHER, near=0.9) is None
    assert earlier_programs(store, method(Profile.PAPER), 1) is None
