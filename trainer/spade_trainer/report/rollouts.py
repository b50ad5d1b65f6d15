"""One row per rollout, from manifests and the timings beside them: the closing table of a run."""

from dataclasses import dataclass

from spade_contracts.manifests import BatchManifest, RolloutManifest, StepManifest
from spade_trainer.rewards.summary import learnable_fraction, mean_hint_regret, mean_return
from spade_trainer.store import layout, manifests, timings
from spade_trainer.store.objects import Store
from spade_trainer.topups import find_topup


@dataclass(frozen=True)
class RolloutRow:
    """What storage says of one rollout. None: that part is not finished."""

    rollout: int
    cycle: int
    environments: int
    """Environments played."""
    designed: int
    """Slots that were asked for, in the first rollout of a cycle; else 0."""
    rejected: dict[str, int]
    """`stage/reason` → count of the cycle's rejected programs, in its first rollout; else empty."""
    outcomes: dict[str, int]
    """Episodes by outcome."""
    verifier_failures: dict[str, int]
    learnable_fraction: float | None
    mean_return: float | None
    hint_regret: float | None
    """Mean over environments, in the first rollout of a cycle."""
    player_samples: int | None
    designer_samples: int | None
    loss: float | None
    gradient_norm: float | None
    policy_version: int | None
    """The version that the step on this rollout made."""
    stage_seconds: dict[str, float]
    """Seconds by stage: design, play, assemble, train."""


def closing_table(store: Store) -> tuple[RolloutRow, ...]:
    """The finished rollouts of a run, in order. Raises InvalidInput if storage holds what we do not write."""
    method = manifests.read_run(store).method
    rows = []
    for rollout in manifests.finished(store, layout.ROLLOUTS, layout.ROLLOUT):
        played = manifests.read_rollout(store, rollout)
        starts = method.starts_cycle(rollout)
        batch = manifests.read_batch(store, played.cycle) if starts else find_topup(store, method, rollout)
        seconds = {
            **(timings.read(store, layout.design_folder(played.cycle, batch.rollout)) if batch else {}),
            **timings.read(store, layout.rollout_folder(rollout)),
            **timings.read(store, layout.step_folder(rollout)),
        }
        rows.append(row_of(played, batch, manifests.find_step(store, rollout), seconds))
    return tuple(rows)


def row_of(
    played: RolloutManifest, batch: BatchManifest | None, step: StepManifest | None, seconds: dict[str, float]
) -> RolloutRow:
    """One row. batch: the cycle's, if this rollout is its first, or its own top-up. step: None before it was taken."""
    return RolloutRow(
        rollout=played.rollout,
        cycle=played.cycle,
        environments=len(played.environments),
        designed=batch.requested if batch else 0,
        rejected=dict(batch.rejected) if batch else {},
        outcomes=dict(played.outcomes),
        verifier_failures=dict(played.verifier_failures),
        learnable_fraction=learnable_fraction(played),
        mean_return=mean_return(played),
        hint_regret=mean_hint_regret(played),
        player_samples=step.player_samples if step else None,
        designer_samples=step.designer_samples if step else None,
        loss=step.loss if step else None,
        gradient_norm=step.gradient_norm if step else None,
        policy_version=step.policy_version if step else None,
        stage_seconds=seconds,
    )
