"""The batch of one optimiser step, assembled from run storage and settings alone.

`assemble(store, run, rollout, last_rollout=...)` is a pure function of what is in run storage: the same manifests
give the same samples in the same order, byte for byte, in any process and after any restart (design §8). The learner
calls it once per rollout, in training and in replay alike, and records `samples_sha256` and `designer_cycles` in the
step manifest.

Order of samples: designer samples first (by cycle, slot), then player samples (by slot, play), then repeats of plays,
as in method.md §1.2. Padding has no trained token, so it is counted and not built.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from spade_contracts.config import MethodConfig
from spade_contracts.config.rewards import PlayerNormalisation
from spade_contracts.config.switches import BaselineMemory, LogProbTemperature, ShortBatches
from spade_contracts.manifests import RolloutManifest, RunManifest
from spade_trainer.due import PaidDesign, due_cycles, generated, paid_designs, rollouts_of
from spade_trainer.play.samples import trained_sequences
from spade_trainer.rewards.advantages import (
    baseline_advantages,
    centring_groups,
    designer_advantages,
    designer_scale,
    ema_baseline,
    player_advantages,
)
from spade_trainer.rewards.composition import (
    Composition,
    batch_denominator,
    compose,
    drawn,
    full_batch,
    plays_wanted,
    rescale,
)
from spade_trainer.rewards.window import mean, window_of
from spade_trainer.store import manifests
from spade_trainer.store.episodes import Episode, Trajectory, read_episodes
from spade_trainer.store.objects import Store


class SampleRole(StrEnum):
    """Which of its two roles the policy played when it wrote a sample."""

    PLAYER = "player"
    DESIGNER = "designer"


@dataclass(frozen=True)
class Sample:
    """One trained token sequence. All arrays have the shape (tokens,) and must not be written to."""

    id: str
    """Unique in the batch: `c0004-s003/r0017-p002` for a play, `c0004-s003/r0017-p002/t03` for one turn of a play,
    `c0004-s003/design` for a program; a repeat has its number behind, `+1`."""
    role: SampleRole
    group: str
    """Environment id, `c0004-s003`: player advantages are z-scores within it."""
    token_ids: NDArray[np.int32]
    """Prompt and everything after it."""
    loss_mask: NDArray[np.bool_]
    """True on trained tokens: those that the policy drew, end-of-turn tokens included; index 0 is always False."""
    log_probs: NDArray[np.float32]
    """log_probs[i]: log-probability of token_ids[i] as the engine drew it; 0 where loss_mask is False."""
    prompt_tokens: int
    """Tokens before the first drawn one."""
    advantage: float
    """Applied to every trained token (method.md §5.2, §5.5)."""
    temperature: float
    """The learner divides logits by this (switch logProbTemperature)."""
    denominator_tokens: int
    """What the sample's summed token loss is divided by: trained tokens of its episode, at least 1 (method.md §8.3)."""
    policy_version: int
    """Version that drew the tokens; with several, the oldest."""

    @property
    def tokens(self) -> int:
        """Length of the sequence."""
        return int(self.token_ids.shape[0])


@dataclass(frozen=True)
class Batch:
    """Everything that one optimiser step consumes."""

    rollout: int
    policy_version: int
    """Version before the step; the step makes the next one."""
    samples: tuple[Sample, ...]
    """May be empty when every episode was masked: then the step changes nothing."""
    denominator: float
    """The sum over samples of (summed token loss / denominator_tokens) is divided by this (switch batchDenominator)."""
    designer_cycles: tuple[int, ...]
    """Cycles whose designer samples are in this batch; goes into the step manifest."""
    designer_reward_mean: float | None
    """Mean reward of those designer samples; None without any."""
    samples_sha256: str
    """Digest of all the above that shapes the step (`samples_digest`)."""
    repeats: int = 0
    """Plays that are in the batch once more, because it was short (switch shortBatches)."""
    trimmed: int = 0
    """Plays and designs that are not in it, because there were too many (switch surplusSamples)."""
    padding: int = 0
    """Places that the reference fills with copies without a trained token; they are not among the samples."""
    lone_designers: int = 0
    """Due designs that nothing is measured against, because no other is of their skill: their advantage is 0."""
    masked_designers: int = 0
    """Designs that are not in it, because their blend is negative (setting rewards.negativeBlends)."""

    @property
    def player_samples(self) -> int:
        """Number of player samples."""
        return sum(sample.role is SampleRole.PLAYER for sample in self.samples)

    @property
    def designer_samples(self) -> int:
        """Number of designer samples."""
        return sum(sample.role is SampleRole.DESIGNER for sample in self.samples)

    @property
    def tokens(self) -> int:
        """Tokens of all samples, prompts included."""
        return sum(sample.tokens for sample in self.samples)

    @property
    def counts(self) -> dict[str, int]:
        """Samples by kind, as the metric `spade_step_samples` shows them; repeats are player samples too."""
        return {
            "player": self.player_samples,
            "designer": self.designer_samples,
            "repeat": self.repeats,
            "trimmed": self.trimmed,
            "padding": self.padding,
            "masked": self.masked_designers,
            "alone": self.lone_designers,
        }


def samples_digest(samples: Iterable[Sample], denominator: float) -> str:
    """SHA-256 over the samples in their order and the batch denominator; floats enter by their bits."""
    digest = hashlib.sha256(np.float64(denominator).tobytes())
    for sample in samples:
        head = [sample.id, sample.role, sample.group, sample.tokens, sample.prompt_tokens]
        head += [sample.denominator_tokens, sample.policy_version]
        digest.update(json.dumps(head).encode())
        digest.update(np.array([sample.advantage, sample.temperature], dtype="<f8").tobytes())
        digest.update(np.ascontiguousarray(sample.token_ids, "<i4").data)
        digest.update(np.ascontiguousarray(sample.loss_mask, "u1").data)
        digest.update(np.ascontiguousarray(sample.log_probs, "<f4").data)
    return digest.hexdigest()


def assemble(store: Store, run: RunManifest, rollout: int, *, last_rollout: bool = False) -> Batch:
    """The batch of the step on a finished rollout.

    last_rollout: the run, as it is now declared, ends with this rollout; then, if the switch says so, the designer
    samples of its own cycle are trained now, because no later rollout would. A step that was recorded decides for
    itself: replay trains what was trained. Raises ManifestMissing if the rollout or its cycles are not finished.
    Source: method.md §1.2, §5.2, §5.5, §8.3.
    """
    method = run.method
    played = manifests.read_rollout(store, rollout)
    plays = player_samples(method, played, read_episodes(store, played), _earlier(store, method, rollout))
    cycles = due_cycles(store, method, rollout, last_rollout=last_rollout)
    full, own = full_batch(method), _generated(store, method, rollout)
    counted = max(len(plays), plays_wanted(full, own, method.switches)) if plays else 0
    designs: list[tuple[Sample, ...]] = []
    rewards: list[float] = []
    masked = lone = 0
    for cycle in cycles:
        paid = paid_designs(store, method, cycle, until=rollout)
        designs += [(sample,) for sample in designer_samples(method, paid, counted)]
        rewards += [one.reward.value for one in paid if one.reward.value is not None and one.reward.trained]
        masked += sum(one.reward.masked for one in paid)
        lone += _lone(method, paid)

    keep = drawn(method.seed, rollout)
    made = compose(len(designs), len(plays), full=full, generated=own, switches=method.switches, keep=keep)
    units = len(made.real)
    samples = tuple(_placed(made, designs, plays, rescale(method, units)))
    denominator = batch_denominator(method, units)
    return Batch(
        rollout=rollout,
        policy_version=played.policy_version,
        samples=samples,
        denominator=denominator,
        designer_cycles=cycles,
        designer_reward_mean=mean(rewards) if rewards else None,
        samples_sha256=samples_digest(samples, denominator),
        repeats=made.repeats,
        trimmed=len(made.trimmed),
        padding=made.padding,
        lone_designers=lone,
        masked_designers=masked,
    )


def player_samples(
    method: MethodConfig,
    played: RolloutManifest,
    episodes: Sequence[Episode],
    earlier: Sequence[RolloutManifest] = (),
) -> list[tuple[Sample, ...]]:
    """The samples of each unhinted, unmasked play of a rollout with its advantage, by slot and play (method.md §5.2).

    earlier: rollouts of the cycle before this one, oldest first, for the moving average of EmaBaseline.
    """
    temperature = _temperature(method, method.play.sampling.temperature)
    plays: list[tuple[Sample, ...]] = []
    for environment in (entry.id for entry in played.environments):
        unhinted = (e for e in episodes if e.environment == environment and not e.hinted and e.trajectory.drawn_tokens)
        group = sorted(unhinted, key=lambda e: e.play)
        returns = [e.episode_return for e in group if e.episode_return is not None]
        group = [e for e in group if e.episode_return is not None]
        if not group:
            continue
        for episode, advantage in zip(group, _normalised(method, environment, returns, earlier), strict=True):
            sequences = trained_sequences(method.play, episode)
            together = max(1, sum(int(sequence.loss_mask.sum()) for _, sequence in sequences))
            name = f"{environment}/r{played.rollout:04d}-p{episode.play:03d}"
            samples = (
                _sample(
                    f"{name}{turn}",
                    role=SampleRole.PLAYER,
                    group=environment,
                    trajectory=sequence,
                    advantage=float(advantage),
                    temperature=temperature,
                )
                for turn, sequence in sequences
            )
            plays.append(tuple(replace(sample, denominator_tokens=together) for sample in samples))
    return plays


def designer_samples(method: MethodConfig, paid: Sequence[PaidDesign], players: int) -> list[Sample]:
    """The designs of one cycle that are trained, by slot, with their centred, scaled rewards.

    players: plays of the rollout that trains them, repeats included. Environments of which nothing is known and those
    with a masked reward are left out, of the mean too; the latter count in the scale. Source: method.md §5.4, §5.5.
    """
    rewards = method.rewards
    known = sum(one.reward.value is not None for one in paid)
    scale = designer_scale(known, players, method.environments.cycle_length, rewards.designer_scale_cap)
    trained = [(one, one.reward.value) for one in paid if one.reward.value is not None and one.reward.trained]
    advantages = designer_advantages(
        [value for _, value in trained],
        centring_groups([one.design.skill for one, _ in trained], rewards.centring),
        scale if rewards.auto_scale else 1.0,
    )
    temperature = _temperature(method, method.environments.designer.sampling.temperature)
    return [
        _sample(
            f"{one.environment}/design",
            role=SampleRole.DESIGNER,
            group=one.environment,
            trajectory=one.design.trajectory,
            advantage=float(advantage),
            temperature=temperature,
        )
        for (one, _), advantage in zip(trained, advantages, strict=True)
    ]


def _lone(method: MethodConfig, paid: Sequence[PaidDesign]) -> int:
    """Designs of a cycle that are trained and are the only one of the group that they are centred in."""
    skills = [one.design.skill for one in paid if one.reward.value is not None and one.reward.trained]
    return list(Counter(centring_groups(skills, method.rewards.centring)).values()).count(1)


def _normalised(
    method: MethodConfig, environment: str, returns: Sequence[float], earlier: Sequence[RolloutManifest]
) -> NDArray[np.float64]:
    """Advantages of the plays of one environment (setting rewards.playerNormalisation)."""
    if method.rewards.player_normalisation is PlayerNormalisation.Z_SCORE:
        return player_advantages(returns)
    before = window_of(environment, earlier).unhinted
    return baseline_advantages(returns, ema_baseline(before, method.rewards.baseline_decay))


def _placed(
    made: Composition, designs: Sequence[tuple[Sample, ...]], plays: Sequence[tuple[Sample, ...]], factor: float
) -> Iterator[Sample]:
    """The samples of a composition with their advantages times a factor; a repeat has its number behind its id."""
    for place in made.real:
        for sample in (designs if place.designer else plays)[place.index]:
            name = f"{sample.id}+{place.repeat}" if place.repeat else sample.id
            yield replace(sample, id=name, advantage=sample.advantage * factor)


def _sample(
    name: str, *, role: SampleRole, group: str, trajectory: Trajectory, advantage: float, temperature: float
) -> Sample:
    """One sample out of its trajectory."""
    return Sample(
        id=name,
        role=role,
        group=group,
        token_ids=trajectory.token_ids,
        loss_mask=trajectory.loss_mask,
        log_probs=trajectory.log_probs,
        prompt_tokens=trajectory.prompt_tokens,
        advantage=advantage,
        temperature=temperature,
        denominator_tokens=max(1, int(trajectory.loss_mask.sum())),
        policy_version=min(version for version, _ in trajectory.spans),
    )


def _temperature(method: MethodConfig, sampling: float) -> float:
    """What the learner divides logits by (D10)."""
    own = method.switches.log_prob_temperature is LogProbTemperature.SAMPLING
    return sampling if own else method.learner.loss.temperature


def _earlier(store: Store, method: MethodConfig, rollout: int) -> tuple[RolloutManifest, ...]:
    """The rollouts before this one that a moving average takes in (switch baselineMemory)."""
    ema = method.rewards.player_normalisation is PlayerNormalisation.EMA_BASELINE
    if not ema or method.switches.baseline_memory is BaselineMemory.ROLLOUT:
        return ()
    return rollouts_of(store, method, method.cycle_of(rollout), until=rollout - 1)


def _generated(store: Store, method: MethodConfig, rollout: int) -> int:
    """Designs that a rollout itself began with; 0 where no batch is filled, because nothing else looks at it."""
    if method.switches.short_batches is not ShortBatches.FILLED:
        return 0
    cycle, offset = divmod(rollout, method.environments.cycle_length)
    return generated(store, method, manifests.read_batch(store, cycle), offset)
