"""After an attempt whose gate let a bad program through, only a later attempt's work counts."""

from pathlib import Path

import pytest
from tests.unit.trainer.builders import design, method

from spade_contracts.verdicts import Reason, Stage, Verdict, accepted, rejected
from spade_sandbox.verify import canaries
from spade_sandbox.verify.canaries import Canary, Sighting
from spade_trainer.design.compose import compose_batch, finished_parts
from spade_trainer.store import layout
from spade_trainer.store.canaries import SOUND, believed, read_sightings, unsound_attempt, write_sightings
from spade_trainer.store.designs import write_designs
from spade_trainer.store.objects import Store, open_store

GOOD = Canary("honest", Stage.ACCEPTED, "class A: ...")
BAD = Canary("crooked", Stage.ORDER, "class B: ...")
NO = rejected(Stage.ORDER, Reason.WINS_TRUNCATED, "a step less wins")
FOLDER = layout.cycle_folder(1)
CONFIG = method(environments={"per_cycle": 1})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path.as_uri())


def sightings(of_the_bad_one: Verdict) -> list[Sighting]:
    return [Sighting(GOOD, "class Aa: ...", accepted()), Sighting(BAD, "class Bb: ...", of_the_bad_one)]


def write_slot(store: Store, attempt: int) -> None:
    write_designs(store, 1, 0, attempt, [design(1, 0, "A")])


def test_what_was_seen_comes_back_as_it_was(store: Store) -> None:
    write_sightings(store, FOLDER, 0, sightings(NO))
    (seen,) = read_sightings(store, FOLDER).values()
    assert [(one.canary.name, one.canary.expected, one.source) for one in seen] == [
        ("crooked", Stage.ORDER, "class Bb: ..."),
        ("honest", Stage.ACCEPTED, "class Aa: ..."),
    ]
    assert canaries.figures(seen) == canaries.figures(sightings(NO))


def test_a_sound_attempt_is_believed_and_the_earliest_stays(store: Store) -> None:
    assert (unsound_attempt(store, FOLDER), believed(store, FOLDER)) == (SOUND, None)
    write_slot(store, 0)
    write_sightings(store, FOLDER, 0, sightings(NO))
    write_sightings(store, FOLDER, 1, [])
    assert unsound_attempt(store, FOLDER) == SOUND
    assert len(believed(store, FOLDER) or ()) == 2
    assert finished_parts(store, 1) == {0: "designs-s000-a00.parquet"}


def test_nothing_up_to_an_unsound_attempt_counts(store: Store) -> None:
    for attempt in (0, 2):
        write_slot(store, attempt)
    write_sightings(store, FOLDER, 0, sightings(NO))
    write_sightings(store, FOLDER, 2, sightings(accepted()))
    assert (unsound_attempt(store, FOLDER), believed(store, FOLDER), finished_parts(store, 1)) == (2, None, {})
    with pytest.raises(KeyError):
        compose_batch(store, CONFIG, 1, 2, ())
    write_slot(store, 10)
    write_sightings(store, FOLDER, 10, sightings(NO))
    seen = believed(store, FOLDER)
    assert seen is not None
    manifest, _ = compose_batch(store, CONFIG, 1, 2, seen)
    assert manifest.designs == ("designs-s000-a10.parquet",)
    assert manifest.canaries == {"bad": 1, "good": 1}
