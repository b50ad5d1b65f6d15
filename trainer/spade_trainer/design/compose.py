"""The manifest of a cycle, composed of its parts: same designs, same bytes, whoever made them and when."""

from collections import Counter

from spade_contracts.manifests import BatchManifest, EnvironmentEntry
from spade_trainer.store import layout
from spade_trainer.store.designs import Design, read_part, write_program, write_verdicts
from spade_trainer.store.objects import Store, names


def finished_parts(store: Store, cycle: int) -> dict[int, str]:
    """Part files of a cycle by slot; of several attempts the earliest counts."""
    parts: dict[int, str] = {}
    for name in names(store, layout.cycle_folder(cycle)):
        if name.startswith("designs-s"):
            parts.setdefault(layout.part_slot(name), name)
    return parts


def compose_batch(
    store: Store, cycle: int, policy_version: int, slots: int
) -> tuple[BatchManifest, tuple[Design, ...]]:
    """Write programs and verdicts out of all parts; return the manifest, still to be written, and all tries.

    KeyError if a slot's part is missing: wait for all.
    """
    parts = finished_parts(store, cycle)
    wanted = tuple(parts[slot] for slot in range(slots))
    designs = tuple(design for part in wanted for design in read_part(store, cycle, part))
    environments = tuple(_entry(store, design) for design in designs if design.accepted)
    rejected = Counter(f"{design.stage}/{design.reason}" for design in designs if not design.accepted)
    manifest = BatchManifest(
        cycle=cycle,
        policy_version=policy_version,
        requested=slots,
        attempts=len(designs),
        environments=environments,
        rejected=dict(rejected),
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
