"""Runs around a scripted engine have the composition of the reference's trace (method.md V30, §1.2, §1.8).

Both domains, both profiles: what is generated, played, hinted, trained, trimmed and remembered, rollout by rollout.
Generations and turns are counted where they arrive, at the engine.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trainer.byte_model import write_byte_model
from tests.unit.trainer.whole_run import Engine, Rollout, run
from tests.unit.trainer.written import Request, Role

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.environments import Domain
from spade_contracts.config.method import Profile
from spade_contracts.config.partial import merged
from spade_trainer.assembly import Sample, SampleRole
from spade_trainer.chat import load_chat
from spade_trainer.design.memory import memory_of
from spade_trainer.rewards.blend import blend
from spade_trainer.store import manifests
from spade_trainer.store.layout import environment_id
from spade_trainer.store.objects import Store, open_store

SLOTS = 24
HINTED_WINS = 4
ROLLOUTS = 12
SHORT = {
    "environments": {"cycle_length": 2, "memory": {"size": 60}},
    "play": {"plays_per_environment": 2, "hinted_plays": 2},
}
"""Cycles of two rollouts with few plays, and a memory that is full in the third."""


@dataclass(frozen=True)
class Case:
    """A run and what must come of it; what is the same in all of them stands in the test."""

    domain: Domain
    profile: Profile
    designed: Sequence[int]
    """Rollouts before which programs and hints are generated."""
    designer_trained: Sequence[int]
    """Rollouts whose step trains a cycle's designs."""
    trims: int
    """Plays that such a step leaves out."""
    scale: float
    """Of the designer's centred rewards."""
    untrained: int
    """Designs that no step of the run trained."""
    memory: Sequence[int]
    """Entries that the cycles after the first see, in order; the last is that of a cycle that would come next."""
    hinted_plays: int = 0
    """Of an environment, in the first rollout of its cycle."""
    plays: int = 8
    """Of an environment, in each rollout."""
    rollouts: int = ROLLOUTS
    patch: dict[str, Any] = field(default_factory=dict)


GAMES, TOOLS = Domain.GAMES, Domain.TOOLS
PAPER, CORRECTED = Profile.PAPER, Profile.CORRECTED
CASES = {
    "games, paper": Case(
        GAMES, PAPER, [0, 4, 8], [4, 8], trims=24, scale=32, untrained=24, memory=[24, 48, 72], hinted_plays=16
    ),
    "games, corrected": Case(
        GAMES, CORRECTED, [0, 4, 8], [4, 8, 11], trims=0, scale=32, untrained=0, memory=[24, 48, 72], hinted_plays=8
    ),
    "tools, paper": Case(TOOLS, PAPER, [0, 8], [8], trims=24, scale=50, untrained=24, memory=[24, 48], hinted_plays=16),
    "tools, corrected": Case(
        TOOLS, CORRECTED, [0, 8], [8, 11], trims=0, scale=50, untrained=0, memory=[24, 48], hinted_plays=8
    ),
    "short tools, paper": Case(
        TOOLS, PAPER, [0, 2, 4], [2, 4], trims=24, scale=4, untrained=24, memory=[24, 48, 60],
        hinted_plays=2, plays=2, rollouts=6, patch=SHORT,
    ),
    "short tools, corrected": Case(
        TOOLS, CORRECTED, [0, 2, 4], [2, 4, 5], trims=0, scale=4, untrained=0, memory=[24, 48, 60],
        hinted_plays=2, plays=2, rollouts=6, patch=SHORT,
    ),
}  # fmt: skip


def won(request: Request) -> bool:
    """Environment i of 24 is won i mod 9 times of eight, and by four of the hinted plays."""
    assert request.play is not None
    return request.play < (HINTED_WINS if request.hinted else request.slot % 9)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_v30_a_run_has_the_composition_of_its_recipe(case: Case, tmp_path: Path) -> None:
    few = {"designer": {"prompt_template": "Compact"}}
    basis = {"environments": {"domain": case.domain, **few}, "play": {"prompt_template": "Compact"}}
    config = resolve(case.profile, merged(basis, case.patch))
    model = write_byte_model(tmp_path / "model", context_tokens=config.play.context_tokens)
    engine = Engine(load_chat(model), config, case.rollouts, won)
    store = open_store((tmp_path / "run").as_uri())
    rollouts = await run(store, config, case.rollouts, engine.chat, engine.generate)

    assert engine.asked == asked(case)
    assert [one.manifest.outcomes for one in rollouts] == [outcomes(case, at) for at in range(case.rollouts)]
    for at, one in enumerate(rollouts):
        wins = [[sum(arm) for arm in (entry.unhinted, entry.hinted)] for entry in one.manifest.environments]
        assert wins == [[wins_of(case, slot), hinted_wins(case, at)] for slot in range(SLOTS)]
        trained_as_due(case, config, at, one)
    trained = {cycle for one in rollouts for cycle in one.batch.designer_cycles}
    cycles = len(case.designed)
    assert SLOTS * (cycles - len(trained)) == case.untrained
    assert max(trained) == cycles - 1 - case.untrained // SLOTS
    assert [len(memory_of(store, config, cycle)) for cycle in range(cycles + 1)] == [0, *case.memory]
    assert [skills_of(store, cycle) for cycle in range(cycles)] == [
        due_skills(config, cycle) for cycle in range(cycles)
    ]


def asked(case: Case) -> Counter[tuple[int, Role]]:
    """What each policy version must have been asked for: for tools two turns a play, a call and an answer."""
    turns = 2 if case.domain is TOOLS else 1
    expected: Counter[tuple[int, Role]] = Counter()
    for at in range(case.rollouts):
        expected[at, Role.PLAY] = SLOTS * case.plays * turns
    for at in case.designed:
        expected[at, Role.PROGRAM] = expected[at, Role.HINT] = SLOTS
        expected[at, Role.HINTED_PLAY] = SLOTS * case.hinted_plays * turns
    return expected


def wins_of(case: Case, slot: int) -> int:
    """Unhinted plays of an environment that are won in each rollout."""
    return min(slot % 9, case.plays)


def hinted_wins(case: Case, rollout: int) -> int:
    """Hinted plays of an environment that are won in a rollout."""
    return min(HINTED_WINS, case.hinted_plays) if rollout in case.designed else 0


def outcomes(case: Case, rollout: int) -> dict[str, int]:
    """How the plays of a rollout end: only a won tool-use task terminates (method.md §5.1, §5.2)."""
    hinted = case.hinted_plays if rollout in case.designed else 0
    everything = SLOTS * (case.plays + hinted)
    wins = sum(wins_of(case, slot) + hinted_wins(case, rollout) for slot in range(SLOTS))
    return {"scored": everything} if case.domain is GAMES else {"scored": wins, "truncated": everything - wins}


def trained_as_due(case: Case, config: MethodConfig, rollout: int, one: Rollout) -> None:
    """The batch of a step has the designs and the plays that are due, in the reference's order."""
    trains = rollout in case.designer_trained
    trims = case.trims if trains else 0
    batch = one.batch
    designers = [sample for sample in batch.samples if sample.role is SampleRole.DESIGNER]
    players = [sample for sample in batch.samples if sample.role is SampleRole.PLAYER]
    assert list(batch.samples) == [*designers, *players]
    assert (len(players), batch.trimmed) == (SLOTS * case.plays - trims, trims)
    assert batch.designer_cycles == due_cycles(case, rollout)
    due = [environment_id(cycle, slot) for cycle in batch.designer_cycles for slot in range(SLOTS)]
    assert [sample.group for sample in designers] == due

    cycle = config.cycle_of(rollout)
    kept = [slot for slot in range(SLOTS) if slot < SLOTS - trims // case.plays]
    assert {sample.group for sample in players} == {environment_id(cycle, slot) for slot in kept}
    gradient = Counter(sample.group for sample in players if sample.loss_mask.any())
    counted = {slot: case.plays if case.domain is GAMES else wins_of(case, slot) for slot in kept}
    assert gradient == {environment_id(cycle, slot): count for slot, count in counted.items() if count}
    for first in range(0, len(designers), SLOTS):
        assert advantages(designers[first : first + SLOTS]) == pytest.approx(due_advantages(case, config))


def due_cycles(case: Case, rollout: int) -> tuple[int, ...]:
    """A step that designs are due at trains the cycle before; the run's last one trains its own."""
    if rollout not in case.designer_trained:
        return ()
    return (case.designer_trained.index(rollout),)


def advantages(samples: Sequence[Sample]) -> list[float]:
    return [sample.advantage for sample in samples]


def due_advantages(case: Case, config: MethodConfig) -> list[float]:
    """Blended rewards of a cycle's designs, centred within each skill and scaled."""
    hinted = min(HINTED_WINS, case.hinted_plays) / case.hinted_plays
    rates = [wins_of(case, slot) / case.plays for slot in range(SLOTS)]
    rewards = [blend(rate, hinted - rate, config.rewards) for rate in rates]
    skills = config.environments.active_skills
    means = [sum(rewards[skill::skills]) / len(rewards[skill::skills]) for skill in range(skills)]
    return [case.scale * (reward - means[slot % skills]) for slot, reward in enumerate(rewards)]


def skills_of(store: Store, cycle: int) -> tuple[str, ...]:
    """The skills of a cycle's environments, by slot."""
    return tuple(entry.skill for entry in manifests.read_batch(store, cycle).environments)


def due_skills(config: MethodConfig, cycle: int) -> tuple[str, ...]:
    """Games take the halves of six skills in turn, tools all six each time (method.md §1.4)."""
    names = config.environments.skills
    assert len(names) == 6
    if config.environments.domain is GAMES:
        names = names[3:] if cycle % 2 else names[:3]
    return tuple(names[slot % len(names)] for slot in range(SLOTS))
