"""The manifest of a cycle, composed of its parts: same designs, same bytes, whoever made them and when."""

from collections import Counter
from collections.abc import Sequence

from spade_contracts.config import MethodConfig
from spade_contracts.manifests import BatchManifest, EnvironmentEntry
from spade_sandbox.verify import canaries
from spade_sandbox.verify.canaries import Sighting
from spade_trainer.design.known import told_apart
from spade_trainer.store import layout
from spade_trainer.store.canaries import unsound_attempt
from spade_trainer.store.designs import Design, read_part, write_program, write_verdicts
from spade_trainer.store.objects import Store, names


def finished_parts(store: Store, cycle: int) -> dict[int, str]:
    """Part files of a cycle by slot; of several attempts the earliest after the last unsound one counts."""
    parts: dict[int, str] = {}
    unsound = unsound_attempt(store, layout.cycle_folder(cycle))
    for name in names(store, layout.cycle_folder(cycle)):
        if name.startswith("designs-s") and layout.part_attempt(name) > unsound:
            parts.setdefault(layout.part_slot(name), name)
    return parts


def compose_batch(
    store: Store, method: MethodConfig, cycle: int, policy_version: int, sightings: Sequence[Sighting]
) -> tuple[BatchManifest, tuple[Design, ...]]:
    """Write programs and verdicts out of all parts; return the manifest, still to be written, and all tries.

    sightings: what the gate said of the canaries, none of them a false accept. KeyError if a slot's part is missing:
    wait for all.
    """
    parts = finished_parts(store, cycle)
    slots = method.environments.per_cycle
    wanted = tuple(parts[slot] for slot in range(slots))
    designed = (design for part in wanted for design in read_part(store, cycle, part))
    designs = told_apart(tuple(designed), method.environments.verification)
    environments = tuple(_entry(store, design) for design in designs if design.accepted)
    rejected = Counter(f"{design.stage}/{design.reason}" for design in designs if not design.accepted)
    manifest = BatchManifest(
        cycle=cycle,
        policy_version=policy_version,
        requested=slots,
        attempts=len(designs),
        environments=environments,
        rejected=dict(rejected),
        canaries=canaries.figures(sightings),
        designs=wanted,
        verdicts=(write_verdicts(store, cycle, designs),),
    )
    return manifest, designs


def _entry(store: Store, design: Design) -> EnvironmentEntry:
    """An accepted design as an environment; its program is written where players read it."""
    return EnvironmentEntry(
        id=layout.environment_id(design.cycle, design.slot),
        slot=design.slot,
        attempt=design.attempt,
        skill=design.skill,
        file=write_program(store, design),
        sha256=design.sha256,
        document_id=design.document_id,
        hint=design.hint,
    )
