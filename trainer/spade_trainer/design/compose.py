"""The manifest of a cycle, composed of its parts: same designs, same bytes, whoever made them and when."""

from collections import Counter
from collections.abc import Sequence

from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import AllRejected
from spade_contracts.manifests import BatchManifest, EndpointUsage, EnvironmentEntry
from spade_sandbox.verify import canaries
from spade_sandbox.verify.canaries import Sighting
from spade_trainer.design.known import told_apart
from spade_trainer.play.plan import environments_of
from spade_trainer.store import layout, manifests
from spade_trainer.store.canaries import unsound_attempt
from spade_trainer.store.designs import NO_USAGE, Design, read_part, read_program, write_program, write_verdicts
from spade_trainer.store.objects import Store, create_same, names
from spade_trainer.store.rejected import rejected_attempt
from spade_trainer.topups import topups_of, wanted_slots


def finished_parts(store: Store, cycle: int, rollout: int | None = None) -> dict[int, str]:
    """Part files of a cycle, or of its top-up for a rollout, by slot, below the cycle's folder; of several attempts the
    earliest counts after the last one that was unsound or came to nothing.
    """
    parts: dict[int, str] = {}
    folder = layout.design_folder(cycle, rollout)
    below = "" if rollout is None else f"{layout.topup_name(rollout)}/"
    spent = unsound_attempt(store, folder)
    if rollout is None:
        spent = max(spent, rejected_attempt(store, cycle))
    for name in names(store, folder):
        if name.startswith("designs-s") and layout.part_attempt(name) > spent:
            parts.setdefault(layout.part_slot(name), f"{below}{name}")
    return parts


def compose_batch(
    store: Store,
    method: MethodConfig,
    cycle: int,
    policy_version: int,
    sightings: Sequence[Sighting],
    *,
    rollout: int | None = None,
) -> tuple[BatchManifest, tuple[Design, ...]]:
    """Write programs and verdicts out of all parts; return the manifest, still to be written, and all tries.

    Where nothing was accepted, the environments may be those of an earlier cycle (setting allRejected).
    sightings: what the gate said of the canaries, none of them a false accept. rollout: the one that the cycle is
    topped up for; None composes the cycle itself. KeyError if a slot's part is missing: wait for all.
    """
    parts = finished_parts(store, cycle, rollout)
    slots = wanted_slots(store, method, cycle, rollout)
    wanted = tuple(parts[slot] for slot in slots)
    designed = (design for part in wanted for design in read_part(store, cycle, part))
    designs = told_apart(tuple(designed), method.environments.verification)
    environments = tuple(_entry(store, design) for design in designs if design.accepted)
    kept_from = None
    keeps = rollout is None and method.environments.designer.all_rejected is AllRejected.KEEP_LAST
    if not environments and keeps:
        kept_from, environments = _kept(store, method, cycle)
    rejected = Counter(f"{design.stage}/{design.reason}" for design in designs if not design.accepted)
    manifest = BatchManifest(
        cycle=cycle,
        rollout=rollout,
        policy_version=policy_version,
        requested=len(slots),
        attempts=len(designs),
        environments=environments,
        rejected=dict(rejected),
        without_solution=sum(design.without_solution for design in designs),
        canaries=canaries.figures(sightings),
        designs=wanted,
        verdicts=(write_verdicts(store, cycle, designs),),
        usage=_usage(designs),
        kept_from=kept_from,
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


def _kept(store: Store, method: MethodConfig, cycle: int) -> tuple[int | None, tuple[EnvironmentEntry, ...]]:
    """The environments of the latest cycle that has some which nobody retired, as this cycle's own, and that cycle."""
    length = method.environments.cycle_length
    for earlier in range(cycle - 1, -1, -1):
        batch = manifests.read_batch(store, earlier)
        played = [manifests.read_rollout(store, r) for r in range(earlier * length, (earlier + 1) * length)]
        topups = topups_of(store, method, earlier, until=(earlier + 1) * length - 1)
        entries = environments_of(batch, played, topups)
        if entries:
            kept_from = earlier if batch.kept_from is None else batch.kept_from
            return kept_from, tuple(_again(store, cycle, earlier, entry) for entry in entries)
    return None, ()


def _again(store: Store, cycle: int, earlier: int, entry: EnvironmentEntry) -> EnvironmentEntry:
    """An environment of an earlier cycle under this one's name; its program is copied, its hint kept."""
    file = layout.program_file(entry.slot, entry.sha256)
    program = read_program(store, earlier, entry.file)
    create_same(store, f"{layout.cycle_folder(cycle)}/{file}", program.encode())
    return entry.model_copy(update={"id": layout.environment_id(cycle, entry.slot), "file": file})


def _usage(designs: Sequence[Design]) -> EndpointUsage | None:
    """What the cycle asked of endpoints; None if it asked none."""
    used = sum((design.usage for design in designs), NO_USAGE)
    if not used.requests:
        return None
    return EndpointUsage(
        requests=used.requests,
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
        cost=round(used.cost, 9),
    )
