"""The batch of one optimiser step, assembled from run storage and settings alone.

`assemble(store, run, rollout, last_rollout=...)` is a pure function of what is in run storage: the same manifests
give the same samples in the same order, byte for byte, in any process and after any restart (design §8). The learner
calls it once per rollout, in training and in replay alike, and records `samples_sha256` and `designer_cycles` in the
step manifest.

Order of samples: designer samples first (by cycle, slot), then player samples (by slot, play), as in method.md §1.2.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from spade_contracts.config import MethodConfig
from spade_contracts.config.switches import BatchDenominator, LeftoverDesignerSamples, LogProbTemperature
from spade_contracts.manifests import RolloutManifest, RunManifest
from spade_trainer.rewards.advantages import designer_advantages, designer_scale, player_advantages
from spade_trainer.rewards.blend import reward_of
from spade_trainer.rewards.window import mean, window_of
from spade_trainer.store import layout, manifests
from spade_trainer.store.designs import Design, read_designs
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
    """Unique in the batch: `c0004-s003/r0017-p002` for a play, `c0004-s003/design` for a program."""
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
    Source: method.md §5.2, §5.5, §8.3.
    """
    method = run.method
    played = manifests.read_rollout(store, rollout)
    player = player_samples(method, played, read_episodes(store, played))
    cycles = due_cycles(store, method, rollout, last_rollout=last_rollout)
    designer: list[Sample] = []
    rewards: list[float] = []
    for cycle in cycles:
        window = _rollouts_of(store, method, cycle, until=rollout)
        designs = _admitted(store, cycle)
        credited, paid = designer_samples(method, designs, window, len(player))
        designer += credited
        rewards += paid
    samples = tuple(_rescaled(method, [*designer, *player]))
    denominator = _denominator(method, len(samples))
    return Batch(
        rollout=rollout,
        policy_version=played.policy_version,
        samples=samples,
        denominator=denominator,
        designer_cycles=cycles,
        designer_reward_mean=mean(rewards) if rewards else None,
        samples_sha256=samples_digest(samples, denominator),
    )


def due_cycles(store: Store, method: MethodConfig, rollout: int, *, last_rollout: bool) -> tuple[int, ...]:
    """Cycles whose designer samples the step on this rollout trains, ascending.

    A recorded step says it itself. Otherwise: the previous cycle at the start of a cycle, and the present one at the
    last rollout (switch leftoverDesignerSamples, D6), each unless an earlier step trained it already.
    """
    recorded = manifests.find_step(store, rollout)
    if recorded is not None:
        return recorded.designer_cycles
    cycle = method.cycle_of(rollout)
    wanted = [cycle - 1] if method.starts_cycle(rollout) and cycle > 0 else []
    if last_rollout and method.switches.leftover_designer_samples is LeftoverDesignerSamples.TRAINED:
        wanted.append(cycle)
    length = method.environments.cycle_length
    earlier = (manifests.find_step(store, r) for r in range(max(0, (cycle - 1) * length), rollout))
    trained = {done for step in earlier if step is not None for done in step.designer_cycles}
    return tuple(due for due in wanted if due not in trained)


def player_samples(method: MethodConfig, played: RolloutManifest, episodes: Sequence[Episode]) -> list[Sample]:
    """The unhinted, unmasked plays of a rollout with their z-scores, by slot and play (method.md §5.2)."""
    temperature = _temperature(method, method.play.sampling.temperature)
    samples = []
    for environment in (entry.id for entry in played.environments):
        unhinted = (e for e in episodes if e.environment == environment and not e.hinted and e.trajectory.drawn_tokens)
        group = sorted(unhinted, key=lambda e: e.play)
        returns = [e.episode_return for e in group if e.episode_return is not None]
        group = [e for e in group if e.episode_return is not None]
        if not group:
            continue
        for episode, advantage in zip(group, player_advantages(returns), strict=True):
            samples.append(
                _sample(
                    f"{environment}/r{played.rollout:04d}-p{episode.play:03d}",
                    role=SampleRole.PLAYER,
                    group=environment,
                    trajectory=episode.trajectory,
                    advantage=float(advantage),
                    temperature=temperature,
                )
            )
    return samples


def designer_samples(
    method: MethodConfig, designs: Sequence[Design], rollouts: Sequence[RolloutManifest], players: int
) -> tuple[list[Sample], list[float]]:
    """The accepted designs of one cycle with their centred, scaled rewards, and the rewards themselves, by slot.

    rollouts: those of the cycle, oldest first. players: player samples of the rollout that trains them. Environments
    of which nothing is known are left out (`reward_of`). Source: method.md §5.4, §5.5.
    """
    credit = method.switches.environment_fault_credit
    paid: list[tuple[Design, float]] = []
    for design in sorted(designs, key=lambda d: d.slot):
        window = window_of(layout.environment_id(design.cycle, design.slot), rollouts)
        reward = reward_of(window, method.rewards, credit)
        if reward is not None and design.trajectory.drawn_tokens:
            paid.append((design, reward))
    rewards = [reward for _, reward in paid]
    scale = designer_scale(len(paid), players, method.environments.cycle_length, method.rewards.designer_scale_cap)
    advantages = designer_advantages(rewards, [design.skill for design, _ in paid], scale)
    temperature = _temperature(method, method.environments.designer.sampling.temperature)
    samples = []
    for (design, _), advantage in zip(paid, advantages, strict=True):
        environment = layout.environment_id(design.cycle, design.slot)
        samples.append(
            _sample(
                f"{environment}/design",
                role=SampleRole.DESIGNER,
                group=environment,
                trajectory=design.trajectory,
                advantage=float(advantage),
                temperature=temperature,
            )
        )
    return samples, rewards


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
    return sampling if method.switches.log_prob_temperature is LogProbTemperature.SAMPLING else 1.0


def _admitted(store: Store, cycle: int) -> list[Design]:
    """The designs behind the environments of a cycle. A program that is like another of its cycle is none of them."""
    batch = manifests.read_batch(store, cycle)
    slots = {entry.slot for entry in batch.environments}
    return [design for design in read_designs(store, batch) if design.accepted and design.slot in slots]


def _rollouts_of(store: Store, method: MethodConfig, cycle: int, *, until: int) -> list[RolloutManifest]:
    """The finished rollouts of a cycle up to and including `until`, oldest first."""
    length = method.environments.cycle_length
    return [manifests.read_rollout(store, r) for r in range(cycle * length, min((cycle + 1) * length, until + 1))]


def _full_batch(method: MethodConfig) -> int:
    """Samples of a rollout in which nothing is missing."""
    return method.environments.per_cycle * method.play.plays_per_environment


def _denominator(method: MethodConfig, samples: int) -> float:
    """What the summed loss is divided by (switch batchDenominator)."""
    fixed = method.switches.batch_denominator is BatchDenominator.FIXED
    return float(_full_batch(method) if fixed else max(1, samples))


def _rescaled(method: MethodConfig, samples: Sequence[Sample]) -> Iterable[Sample]:
    """The samples as the reference weighs a batch that is not full: it averages over real ones if there is no KL term.

    Only with the fixed denominator (method.md §1.2, empty cases).
    """
    full = _full_batch(method)
    fixed = method.switches.batch_denominator is BatchDenominator.FIXED
    if not fixed or method.learner.loss.kl_coefficient > 0 or not 0 < len(samples) < full:
        return samples
    return [replace(sample, advantage=sample.advantage * full / len(samples)) for sample in samples]
