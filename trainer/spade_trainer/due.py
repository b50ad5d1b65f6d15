"""Which designs a step trains and what each of them earned, from run storage alone (method.md §5.4, §5.5)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spade_contracts.config import MethodConfig
from spade_contracts.config.rewards import RewardVariant
from spade_contracts.config.switches import LeftoverDesignerSamples, RepeatedReturns
from spade_contracts.manifests import BatchManifest, RolloutManifest
from spade_trainer.rewards.composition import full_batch, plays_wanted
from spade_trainer.rewards.designer import Reward, rewards_of, skill_means, trackers_of
from spade_trainer.rewards.window import window_of, with_repeats
from spade_trainer.store import layout, manifests
from spade_trainer.store.designs import Design, read_designs
from spade_trainer.store.objects import Store
from spade_trainer.topups import find_topup, topups_of


@dataclass(frozen=True)
class PaidDesign:
    """An admitted design with what it earned."""

    design: Design
    reward: Reward

    @property
    def environment(self) -> str:
        """Id of the environment that it became."""
        return layout.environment_id(self.design.cycle, self.design.slot)


def due_cycles(store: Store, method: MethodConfig, rollout: int, *, last_rollout: bool) -> tuple[int, ...]:
    """Cycles whose designer samples the step on this rollout trains, ascending.

    A recorded step says it itself. Otherwise those of the schedule, each unless an earlier step trained it already.
    """
    recorded = manifests.find_step(store, rollout)
    if recorded is not None:
        return recorded.designer_cycles
    wanted = scheduled_cycles(method, rollout, last_rollout=last_rollout)
    first = min(wanted, default=method.cycle_of(rollout)) * method.environments.cycle_length
    earlier = (manifests.find_step(store, r) for r in range(first, rollout))
    trained = {done for step in earlier if step is not None for done in step.designer_cycles}
    return tuple(due for due in wanted if due not in trained)


def scheduled_cycles(method: MethodConfig, rollout: int, *, last_rollout: bool) -> tuple[int, ...]:
    """Cycles whose designer samples are due at a rollout by the schedule alone, ascending.

    At the start of a cycle the one that lies `delayCycles` back, and at the last rollout all that are left (switch
    leftoverDesignerSamples, D6). None if the designer is not trained.
    """
    if not method.rewards.train_designer:
        return ()
    cycle = method.cycle_of(rollout)
    delayed = cycle - method.rewards.delay_cycles
    wanted = [delayed] if method.starts_cycle(rollout) and delayed >= 0 else []
    if last_rollout and method.switches.leftover_designer_samples is LeftoverDesignerSamples.TRAINED:
        wanted += range(max(0, delayed + 1), cycle + 1)
    return tuple(wanted)


def paid_designs(store: Store, method: MethodConfig, cycle: int, *, until: int) -> tuple[PaidDesign, ...]:
    """The admitted designs of a cycle with what its rollouts up to `until` say of them, by slot.

    Those of its top-ups are among them where leftover designer samples are trained; else they are lost (D6).
    A program that is like another of its cycle is not admitted. Raises ManifestMissing if a rollout is not finished.
    """
    batch = manifests.read_batch(store, cycle)
    designs = (design for one in _trained_with(store, method, batch, until=until) for design in _admitted(store, one))
    admitted = sorted(designs, key=lambda design: design.slot)
    rollouts = counted_rollouts(store, method, batch, until=until)
    windows = [window_of(layout.environment_id(cycle, design.slot), rollouts) for design in admitted]
    skilled = [(design.skill, window) for design, window in zip(admitted, windows, strict=True)]
    trackers = trackers_of(skilled, method.rewards, _history(store, method, cycle))
    rewards = rewards_of(skilled, method.rewards, method.switches, trackers)
    return tuple(PaidDesign(design, reward) for design, reward in zip(admitted, rewards, strict=True))


def counted_rollouts(
    store: Store, method: MethodConfig, batch: BatchManifest, *, until: int
) -> tuple[RolloutManifest, ...]:
    """The finished rollouts of a cycle up to and including `until`, oldest first, as its windows count them.

    Where a play that fills a batch counts again, its return is there as often (switch repeatedReturns).
    """
    rollouts = rollouts_of(store, method, batch.cycle, until=until)
    if method.switches.repeated_returns is RepeatedReturns.ONCE:
        return rollouts
    return tuple(
        with_repeats(rollout, plays_wanted(full_batch(method), generated(store, method, batch, at), method.switches))
        for at, rollout in enumerate(rollouts)
    )


def rollouts_of(store: Store, method: MethodConfig, cycle: int, *, until: int) -> tuple[RolloutManifest, ...]:
    """The finished rollouts of a cycle up to and including `until`, oldest first."""
    length = method.environments.cycle_length
    wanted = range(cycle * length, min((cycle + 1) * length, until + 1))
    return tuple(manifests.read_rollout(store, rollout) for rollout in wanted)


def generated(store: Store, method: MethodConfig, batch: BatchManifest, offset: int) -> int:
    """Designs that a rollout of the cycle itself began with, those of a top-up too, whether they are trained or not."""
    if not method.rewards.train_designer:
        return 0
    if offset == 0:
        return len(batch.environments)
    topup = find_topup(store, method, batch.cycle * method.environments.cycle_length + offset)
    return len(topup.environments) if topup is not None else 0


def _trained_with(store: Store, method: MethodConfig, batch: BatchManifest, *, until: int) -> tuple[BatchManifest, ...]:
    """The batch of a cycle, and the top-ups whose designers are trained with its own."""
    if method.switches.leftover_designer_samples is LeftoverDesignerSamples.DROPPED:
        return (batch,)
    return (batch, *topups_of(store, method, batch.cycle, until=until))


def _admitted(store: Store, batch: BatchManifest) -> Iterator[Design]:
    """The designs of a batch or top-up that became environments, and whose tokens the policy drew."""
    slots = {entry.slot for entry in batch.environments}
    for design in read_designs(store, batch):
        if design.accepted and design.slot in slots and design.trajectory.drawn_tokens:
            yield design


def _history(store: Store, method: MethodConfig, cycle: int) -> dict[str, Sequence[float]]:
    """Mean return of each skill in each earlier cycle, oldest first; empty for variants that do not look at it."""
    means: dict[str, list[float]] = {}
    if method.rewards.variant is not RewardVariant.LEARNING_POTENTIAL:
        return {}
    for earlier in range(cycle):
        batch = manifests.read_batch(store, earlier)
        until = (earlier + 1) * method.environments.cycle_length
        rollouts = counted_rollouts(store, method, batch, until=until)
        entries = (entry for one in _trained_with(store, method, batch, until=until) for entry in one.environments)
        windows = [(entry.skill, window_of(entry.id, rollouts)) for entry in entries]
        for skill, value in skill_means(windows).items():
            means.setdefault(skill, []).append(value)
    return dict(means)
