"""Environment memory: examples from earlier cycles for the designer's prompt (method.md §6).

It is computed from manifests, not kept: an entry is what the first rollout of its cycle said of an environment.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spade_contracts.config import MemoryConfig, MethodConfig
from spade_contracts.config.switches import Switches
from spade_contracts.manifests import BatchManifest, RolloutManifest
from spade_trainer.design.draws import Choose
from spade_trainer.design.prompt import MemoryExample
from spade_trainer.rewards.regret import regret_of
from spade_trainer.rewards.window import window_of
from spade_trainer.store import manifests
from spade_trainer.store.designs import read_program
from spade_trainer.store.objects import Store

POSITIVE_LOW, POSITIVE_HIGH = 0.15, 0.85
NEGATIVE_LOW, NEGATIVE_HIGH = 0.1, 0.9
LEAST_CANDIDATES = 10
"""Positives are drawn from the best 3n or from this many, whichever is more."""


@dataclass(frozen=True)
class Entry:
    """One environment in memory."""

    cycle: int
    file: str
    """Its program, below its cycle's folder."""
    skill: str
    win_rate: float
    """Share of the first rollout's unhinted plays with a return above 0; not the mean return of rewards/."""
    regret: float
    """Hint regret of that rollout by the estimator that is paid, as it is; 0 where it is not known."""


@dataclass(frozen=True)
class Examples:
    """What a prompt shows of the memory."""

    positives: tuple[Entry, ...]
    negatives: tuple[Entry, ...]


def memory_of(store: Store, method: MethodConfig, cycle: int) -> tuple[Entry, ...]:
    """The memory that designs of a cycle see: at most `size` entries of earlier cycles, oldest first. A cycle that
    played the environments of an earlier one again adds none.

    Raises ManifestMissing if an earlier cycle was not played yet.
    """
    size = method.environments.memory.size
    newest_first: list[Entry] = []
    for earlier in range(cycle - 1, -1, -1):
        if len(newest_first) >= size:
            break
        batch = manifests.read_batch(store, earlier)
        if batch.kept_from is not None:
            continue
        first = manifests.read_rollout(store, earlier * method.environments.cycle_length)
        newest_first += reversed(entries_of(batch, first, method.switches))
    return tuple(reversed(newest_first[:size]))


def entries_of(batch: BatchManifest, first: RolloutManifest, switches: Switches) -> list[Entry]:
    """One entry per environment that has unhinted plays and was not retired, by slot."""
    played = {entry.id: entry for entry in first.environments}
    entries = []
    for environment in sorted(batch.environments, key=lambda e: e.slot):
        returns = played.get(environment.id)
        if returns is None or not returns.unhinted or returns.retired:
            continue
        won = sum(value > 0 for value in returns.unhinted)
        # An environment without hinted plays has a regret of 0 here, whatever missingReturns says (method.md §6).
        known = regret_of(window_of(environment.id, [first]), switches) if returns.hinted else None
        regret = 0.0 if known is None else known.value
        entries.append(Entry(batch.cycle, environment.file, environment.skill, won / len(returns.unhinted), regret))
    return entries


def draw_examples(memory: Sequence[Entry], skill: str, settings: MemoryConfig, choose: Choose) -> Examples:
    """Examples of the skill: positives among the highest regrets at middling win rates, negatives at extreme ones.

    Vector V17.
    """
    same = [entry for entry in memory if entry.skill == skill]
    middling = [entry for entry in same if POSITIVE_LOW <= entry.win_rate <= POSITIVE_HIGH]
    best = sorted(middling, key=lambda entry: -entry.regret)[: max(3 * settings.positives, LEAST_CANDIDATES)]
    extreme = [entry for entry in same if entry.win_rate > NEGATIVE_HIGH or entry.win_rate < NEGATIVE_LOW]
    return Examples(
        positives=_drawn(best, settings.positives, choose), negatives=_drawn(extreme, settings.negatives, choose)
    )


def shown(store: Store, entry: Entry, settings: MemoryConfig) -> MemoryExample:
    """An entry as a prompt shows it: its class's name and the beginning of its program."""
    program = read_program(store, entry.cycle, entry.file)
    name = re.search(r"^class\s+(\w*Env)\b", program, re.MULTILINE)
    return MemoryExample(
        name=name.group(1) if name else entry.file.rpartition("/")[2],
        skill=entry.skill,
        code=program[: settings.snippet_characters],
        win_rate=entry.win_rate,
        regret=entry.regret,
    )


def _drawn(entries: Sequence[Entry], wanted: int, choose: Choose) -> tuple[Entry, ...]:
    """As many of the entries as are wanted and there are."""
    count = min(wanted, len(entries))
    return tuple(entries[index] for index in choose(len(entries), count)) if count else ()
