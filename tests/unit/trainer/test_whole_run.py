"""Twelve rollouts around a scripted engine have the composition of the reference's trace (method.md V30, §1.8).

Both domains, both profiles: what is generated, played, hinted, trained and remembered, rollout by rollout.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.unit.trainer.byte_model import write_byte_model
from tests.unit.trainer.whole_run import Turn, run, scripted

from spade_contracts.config import MethodConfig, resolve
from spade_contracts.config.environments import Domain
from spade_contracts.config.method import Profile
from spade_trainer.assembly import SampleRole
from spade_trainer.chat import load_chat
from spade_trainer.design.memory import memory_of
from spade_trainer.store.objects import open_store

ROLLOUTS, SLOTS, PLAYS = 12, 24, 8
FULL = SLOTS * PLAYS
HINTED_WINS = 4
TRIMMED = FULL - SLOTS
"""Plays that are trained beside the designs of a whole cycle, in the reference (D7)."""


@dataclass(frozen=True)
class Expected:
    """One figure a rollout, and one a cycle for the memory."""

    generated: Sequence[int]
    designer_samples: Sequence[int]
    player_samples: Sequence[int]
    memory: Sequence[int]
    """After each cycle that ended."""


def at(places: Sequence[int], value: int = SLOTS, otherwise: int = 0) -> list[int]:
    """The value in these rollouts."""
    return [value if rollout in places else otherwise for rollout in range(ROLLOUTS)]


def trimmed(*places: int) -> list[int]:
    """Plays trained in each rollout, where these train designs too."""
    return at(places, TRIMMED, FULL)


EXPECTED = {
    (Domain.GAMES, Profile.PAPER): Expected(at([0, 4, 8]), at([4, 8]), trimmed(4, 8), [24, 48, 72]),
    (Domain.GAMES, Profile.CORRECTED): Expected(at([0, 4, 8]), at([4, 8, 11]), [FULL] * ROLLOUTS, [24, 48, 72]),
    (Domain.TOOLS, Profile.PAPER): Expected(at([0, 8]), at([8]), trimmed(8), [24]),
    (Domain.TOOLS, Profile.CORRECTED): Expected(at([0, 8]), at([8, 11]), [FULL] * ROLLOUTS, [24]),
}


def won(turn: Turn) -> bool:
    """Environment i of 24 is won i mod 9 times of eight, and by four of the hinted plays."""
    assert turn.play is not None
    return turn.play < (HINTED_WINS if turn.hinted else turn.slot % 9)


def settings(domain: Domain, profile: Profile) -> MethodConfig:
    return resolve(profile, {"environments": {"domain": domain}, "play": {"prompt_template": "Compact"}})


@pytest.mark.parametrize(("domain", "profile"), EXPECTED)
async def test_v30_a_run_has_the_composition_of_its_recipe(domain: Domain, profile: Profile, tmp_path: Path) -> None:
    config, expected = settings(domain, profile), EXPECTED[domain, profile]
    chat = replace(load_chat(write_byte_model(tmp_path / "model")), context_tokens=config.play.context_tokens)
    store = open_store((tmp_path / "run").as_uri())
    rollouts = await run(store, config, ROLLOUTS, chat, scripted(chat, config, ROLLOUTS, won))

    assert [one.generated for one in rollouts] == expected.generated
    length = config.environments.cycle_length
    hinted = at(range(0, ROLLOUTS, length), SLOTS * config.play.hinted_plays)
    assert [one.manifest.outcomes for one in rollouts] == [{"scored": FULL + more} for more in hinted]
    for one in rollouts:
        wins = [[sum(arm) for arm in (entry.unhinted, entry.hinted)] for entry in one.manifest.environments]
        share = HINTED_WINS if one.manifest.rollout % length == 0 else 0
        assert wins == [[slot % 9 if slot % 9 < PLAYS else PLAYS, share] for slot in range(SLOTS)]
    assert [one.batch.designer_samples for one in rollouts] == expected.designer_samples
    assert [one.batch.player_samples for one in rollouts] == expected.player_samples
    assert [one.batch.trimmed for one in rollouts] == [FULL - players for players in expected.player_samples]
    for one in rollouts:
        roles = [sample.role for sample in one.batch.samples]
        assert roles == sorted(roles, key=lambda role: role is SampleRole.PLAYER), "designers come first"
    for one in rollouts:
        trained = {sample.group for sample in one.batch.samples if sample.role is SampleRole.DESIGNER}
        assert trained == {f"c{cycle:04d}-s{slot:03d}" for cycle in one.batch.designer_cycles for slot in range(SLOTS)}
    ended = ROLLOUTS // length
    assert [len(memory_of(store, config, cycle + 1)) for cycle in range(ended)] == expected.memory
