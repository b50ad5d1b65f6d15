"""What a cycle's programs are compared with: the run's earlier programs, and one another.

Slots are designed in parallel by several workers, so likeness within the cycle is decided when it is composed, by slot:
of two programs that are alike the one of the lower slot stays. No manifest depends on who was faster.
"""

from collections.abc import Sequence
from dataclasses import replace

from spade_contracts.config import MethodConfig, VerificationSettings
from spade_contracts.config.environments import DesignerSource
from spade_contracts.config.verification import KnownPrograms, OptionalStage
from spade_contracts.verdicts import Reason, Stage
from spade_sandbox.verify.novelty import Library
from spade_trainer.store import layout
from spade_trainer.store.designs import Design, read_program
from spade_trainer.store.objects import Store
from spade_trainer.topups import programs_of


def earlier_programs(store: Store, method: MethodConfig, cycle: int, rollout: int | None = None) -> Library | None:
    """All accepted programs of the cycles before, the environment memory's among them, oldest first; for a top-up also
    those of the cycle itself before that rollout.

    None if the gate does not ask, or programs come from a pool, which gives them again by design. Raises
    ManifestMissing if an earlier cycle is not finished.
    """
    pool = method.environments.designer.source is DesignerSource.POOL
    if pool or OptionalStage.NOVELTY not in method.environments.verification.stages:
        return None
    library = Library()
    length = method.environments.cycle_length
    ends = [(earlier, (earlier + 1) * length) for earlier in range(cycle)]
    for earlier, end in ends if rollout is None else [*ends, (cycle, rollout)]:
        for entry in programs_of(store, method, earlier, until=end - 1):
            library.add(entry.id, read_program(store, earlier, entry.file))
    return library


def told_apart(designs: Sequence[Design], settings: VerificationSettings) -> tuple[Design, ...]:
    """The designs of a cycle, by slot and try; accepted ones that are like one of a lower slot are rejected as such."""
    if OptionalStage.NOVELTY not in settings.stages:
        return tuple(designs)
    library = Library()
    result = []
    for design in designs:
        reason, like = _likeness(library, design, settings) if design.accepted else (None, "")
        if design.accepted and reason is None:
            library.add(layout.environment_id(design.cycle, design.slot), design.program)
        message = f"it is like {like} of the same cycle"
        result.append(_rejected(design, reason, message) if reason is not None else design)
    return tuple(result)


def _likeness(library: Library, design: Design, settings: VerificationSettings) -> tuple[Reason | None, str]:
    novelty = settings.novelty
    match = library.nearest(design.program, near=novelty.near)
    if match is None:
        return None, ""
    if match.exact:
        return Reason.DUPLICATE, match.name
    near = novelty.reject is KnownPrograms.NEAR and match.similarity >= novelty.near
    return (Reason.NEAR_DUPLICATE, match.name) if near else (None, "")


def _rejected(design: Design, reason: Reason, message: str) -> Design:
    return replace(design, stage=Stage.NOVELTY.value, reason=reason.value, message=message, hint=None)
