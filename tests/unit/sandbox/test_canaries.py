"""Canaries are many and varied, and the text that the gate sees of one gives nothing away and is still the program."""

import ast
import io
import random
import tokenize
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spade_contracts.canaries import BAD, FALSE_ACCEPTS, FALSE_REJECTS, GOOD, by_stage, false_accepts
from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import FULL_BATTERY, OptionalStage
from spade_contracts.tool_calls import ToolCallParsing, final_answer, parse_tool_calls
from spade_contracts.verdicts import Reason, Stage, Verdict, accepted, rejected
from spade_sandbox.pod.programs import loading
from spade_sandbox.verify import canaries
from spade_sandbox.verify.canaries import Canary, CanaryUnjudged, Sighting
from spade_sandbox.verify.disguise import disguise

UNSEEN = Path(__file__).parents[2] / "data" / "canaries"
SHIPPED = {domain: canaries.shipped(domain) for domain in Domain}
OTHERS = {domain: canaries.load(UNSEEN, domain) for domain in Domain}
ALL = [(domain, canary) for known in (SHIPPED, OTHERS) for domain in Domain for canary in known[domain]]
GOOD_ONES = [pytest.param(domain, canary, id=f"{domain}-{canary.name}") for domain, canary in ALL if canary.good]
MOST_TURNS = 60


def is_good(canary: Canary) -> bool:
    return canary.good


def test_there_are_enough_of_both_kinds_in_both_sets_and_no_name_twice() -> None:
    for known, least in ((SHIPPED, 40), (OTHERS, 15)):
        kinds = Counter(canary.good for domain in Domain for canary in known[domain])
        assert min(kinds.values()) >= least
    assert max(Counter(canary.name for _, canary in ALL).values()) == 1


def test_bad_ones_are_for_every_stage_that_looks_at_what_a_program_does() -> None:
    for domain, stages in (
        (Domain.GAMES, {Stage.PARSE, Stage.CONTRACT, Stage.CONTROLS, Stage.SOLUTION, Stage.ORDER, Stage.LEAKS}),
        (Domain.TOOLS, {Stage.CONTRACT, Stage.CONTROLS, Stage.SOLUTION, Stage.ORDER, Stage.LEAKS}),
    ):
        assert {canary.expected for canary in SHIPPED[domain] if not canary.good} >= stages


def test_a_file_in_the_wrong_folder_is_refused(tmp_path: Path) -> None:
    for kind in (GOOD, BAD):
        (tmp_path / "games" / kind).mkdir(parents=True)
    (tmp_path / "games" / GOOD / "x.py").write_text("# expect: controls\n")
    with pytest.raises(ValueError, match="folder good"):
        canaries.load(tmp_path, Domain.GAMES)


@pytest.mark.parametrize("domain", Domain)
def test_a_draw_repeats_and_holds_no_bad_one_for_a_stage_that_is_off(domain: Domain) -> None:
    known = SHIPPED[domain]
    drawn = canaries.draw(known, 5, FULL_BATTERY, random.Random(3))
    assert drawn == canaries.draw(known, 5, FULL_BATTERY, random.Random(3))
    assert Counter(map(is_good, drawn)) == {True: 5, False: 5}
    assert len(set(drawn)) == 10
    stages = {c.expected for seed in range(20) for c in canaries.draw(known, 40, (), random.Random(seed)) if not c.good}
    assert stages <= {Stage.PARSE, Stage.CONTRACT, Stage.CONTROLS}
    some = canaries.draw(known, 40, (OptionalStage.LEAKS,), random.Random(0))
    assert Stage.LEAKS in {c.expected for c in some}
    assert Stage.ORDER not in {c.expected for c in some}


@pytest.mark.parametrize("number", [0, 1])
def test_a_disguise_hides_file_name_and_text_and_repeats(number: int) -> None:
    for _, canary in ALL:
        text = disguise(canary.source, number)
        assert text == disguise(canary.source, number)
        assert text != disguise(canary.source, number + 2)
        assert not _names(text) & (_names(canary.source) - KEPT - _imported(canary.source)), canary.name
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        assert not [token for token in tokens if token.type == tokenize.COMMENT]
        assert ast.get_docstring(ast.parse(text)) is None


KEPT = {
    "reset", "step", "solution", "close", "max_turns", "seed", "action", "self", "kwargs", "__init__",
}  # fmt: skip


def _names(source: str) -> set[str]:
    """Classes and module constants, and methods that no caller knows."""
    tree = ast.parse(source)
    found = {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    found |= {t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    methods = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    known = {"_advance_if_done", "_check_answer"}
    return found | {name for name in methods if not name.startswith("tool_") and name not in known | FOREIGN}


FOREIGN = {"open"}
"""A method that has a builtin's name keeps it."""


def _imported(source: str) -> set[str]:
    return {
        alias.name
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Import | ast.ImportFrom)
        for alias in n.names
    }


@pytest.mark.parametrize(("domain", "canary"), GOOD_ONES)
def test_a_disguised_good_canary_is_still_won_by_its_own_solution_and_by_nothing_less(
    domain: Domain, canary: Canary
) -> None:
    solutions = set()
    for number in (11, 12):
        environment = loading.load(disguise(canary.source, number), MOST_TURNS)
        for seed in (0, 1, 2):
            opening, _ = environment.reset(seed=seed)
            assert environment.reset(seed=seed)[0] == opening
            solution = environment.solution()
            solutions.add(solution)
            assert _played(environment, domain, solution), solution
            environment.reset(seed=seed)
            assert not _played(environment, domain, "\n".join(solution.split("\n")[:-1])), solution
    assert len(solutions) > 3, "the seeds and disguises give different instances"


def _played(environment: Any, domain: Domain, solution: str) -> bool:
    """Whether these actions win, and only the last of them."""
    lines = solution.split("\n")
    for number, line in enumerate(lines, start=1):
        calls = parse_tool_calls(line, ToolCallParsing.STRICT) if domain is Domain.TOOLS else ()
        if calls and final_answer(line) is None:
            assert environment.execute_tool(calls[0].name, calls[0].values())["returncode"] == 0
            continue
        _, reward, terminated, truncated, _ = environment.step(line)
        if terminated or truncated:
            return number == len(lines) and terminated and reward == 1.0
    return False


GOOD_ONE = Canary("g", Stage.ACCEPTED, "")
BAD_ONE = Canary("b", Stage.ORDER, "")
NO = rejected(Stage.MUTANTS, Reason.LOW_MUTATION_SCORE, "")
KNOWN = rejected(Stage.NOVELTY, Reason.DUPLICATE, "")


def test_figures_name_the_stage_that_erred() -> None:
    words = [(GOOD_ONE, accepted()), (GOOD_ONE, NO), (GOOD_ONE, KNOWN), (BAD_ONE, NO), (BAD_ONE, accepted())]
    figures = canaries.figures(Sighting(canary, "", verdict) for canary, verdict in words)
    assert figures == {BAD: 2, GOOD: 3, f"{FALSE_ACCEPTS}/order": 1, f"{FALSE_REJECTS}/mutants": 1}
    assert false_accepts(figures) == 1
    assert dict(by_stage(figures, FALSE_REJECTS)) == {"mutants": 1}
    assert false_accepts({"good": 4}) == 0


async def test_a_canary_that_sandboxes_failed_under_is_no_result() -> None:
    async def judge(source: str) -> Verdict:
        return rejected(Stage.CONTRACT, Reason.INFRASTRUCTURE, "no pod")

    with pytest.raises(CanaryUnjudged, match="no pod"):
        await canaries.sight(BAD_ONE, "", judge)
