"""A verification is found again by what decides it, and its manifest says of the verdicts what they say."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.config import SandboxLimits
from spade_contracts.config.environments import Domain
from spade_contracts.config.verification import VerificationSettings
from spade_contracts.tasks import RunRef, VerifyTask
from spade_contracts.verdicts import Reason, Stage, accepted, rejected
from spade_sandbox.verify.canaries import Canary, Sighting
from spade_trainer.store import verifications
from spade_trainer.store.canaries import write_sightings
from spade_trainer.store.objects import Store, open_store
from spade_trainer.store.programs import ProgramFile
from spade_trainer.store.verifications import compose, digest, distribution, judged

PROGRAMS = (ProgramFile("a.py", b"A"), ProgramFile("b.py", b"B"), ProgramFile("c.py", b"C"))
FOLDER = "verifications/x"


def task(**changes: Any) -> VerifyTask:
    known = VerifyTask(
        run=RunRef(namespace="default", name="pool-batch", uid="u", storage_uri="file:///storage/x"),
        programs_uri="file:///storage/programs", domain=Domain.GAMES, settings=VerificationSettings(),
        limits=SandboxLimits(), attempt=0, workers=1, sandbox_host="h",
    )  # fmt: skip
    return known.model_copy(update=changes)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path.as_uri())


def write(store: Store, attempt: int = 0) -> None:
    """Two chunks: an accepted program and two that are not."""
    good = judged(PROGRAMS[0], "A", accepted({"mutation_score": 0.5, "seconds": 1.25, "solution_form": "none"}))
    bad = [judged(p, None, rejected(Stage.PARSE, Reason.SYNTAX, "no")) for p in PROGRAMS[1:]]
    verifications.write_part(store, FOLDER, 0, attempt, [good, bad[0]])
    verifications.write_part(store, FOLDER, 1, attempt, [bad[1]])


def test_same_programs_and_terms_are_the_same_verification_whoever_asks() -> None:
    again = task(attempt=3, workers=5, sandbox_host="other")
    assert digest(task(), PROGRAMS) == digest(again, PROGRAMS)


@pytest.mark.parametrize(
    ("changes", "programs"),
    [
        ({"settings": VerificationSettings(max_steps=99)}, PROGRAMS),
        ({"limits": SandboxLimits(cpu_seconds=3)}, PROGRAMS),
        ({"domain": Domain.TOOLS}, PROGRAMS),
        ({}, (ProgramFile("a.py", b"other"), *PROGRAMS[1:])),
        ({}, (ProgramFile("renamed.py", b"A"), *PROGRAMS[1:])),
        ({}, PROGRAMS[:2]),
    ],
)
def test_whatever_could_change_a_verdict_is_another_verification(
    changes: dict[str, Any], programs: tuple[ProgramFile, ...]
) -> None:
    assert digest(task(**changes), programs) != digest(task(), PROGRAMS)


def test_manifest_counts_what_the_verdicts_hold(store: Store) -> None:
    write(store)
    manifest = compose(store, FOLDER, task(), 2, {"bad": 3}, lambda sources: float(len(sources)))
    assert (manifest.programs, manifest.rejected) == (3, {"parse/syntax": 2})
    assert [entry.name for entry in manifest.accepted] == ["a.py"]
    assert manifest.without_solution == 1, "it was accepted without one"
    assert manifest.mutation_scores is not None
    assert (manifest.mutation_scores.programs, manifest.mutation_scores.median) == (1, 0.5)
    assert manifest.diversity == 1.0, "of the accepted programs only"
    assert manifest.canaries == {"bad": 3}
    rows = verifications.read_part(store, FOLDER, manifest.verdicts)
    assert [(row.name, row.accepted, row.reason) for row in rows] == [
        ("a.py", True, ""), ("b.py", False, "syntax"), ("c.py", False, "syntax"),
    ]  # fmt: skip
    assert "seconds" not in rows[0].facts, "timings would make equal verdicts differ"


def test_parts_of_a_second_attempt_change_nothing(store: Store) -> None:
    write(store)
    first = compose(store, FOLDER, task(), 2, {}, lambda _: None)
    write(store, attempt=1)
    assert compose(store, FOLDER, task(attempt=1), 2, {}, lambda _: None) == first


def test_verdicts_of_an_attempt_whose_gate_accepted_a_known_bad_program_count_no_more(store: Store) -> None:
    write(store)
    bad = Sighting(Canary("fixed_command_wins", Stage.CONTROLS, ""), "text", accepted())
    write_sightings(store, FOLDER, 0, [bad])
    assert verifications.finished_parts(store, FOLDER) == {}
    write(store, attempt=1)
    assert set(verifications.finished_parts(store, FOLDER)) == {0, 1}


def test_missing_part_is_no_manifest(store: Store) -> None:
    write(store)
    with pytest.raises(KeyError):
        compose(store, FOLDER, task(), 3, {}, lambda _: None)


@given(st.lists(st.floats(0, 1), min_size=1))
def test_distribution_is_in_order_and_within_the_scores(scores: list[float]) -> None:
    found = distribution(scores)
    assert found is not None
    figures = (found.minimum, found.lower_quartile, found.median, found.upper_quartile, found.maximum)
    assert found.programs == len(scores)
    assert (figures[0], figures[-1]) == (min(scores), max(scores))
    assert all(low <= high + 1e-9 for low, high in itertools.pairwise(figures))
    assert found.minimum - 1e-9 <= found.mean <= found.maximum + 1e-9


def test_no_score_is_no_distribution() -> None:
    assert distribution([]) is None
