"""What all ranks do together: rank 0 names a piece of work, every rank does it, all have the same result."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum

import torch
import torch.distributed as dist

from spade_contracts.config import MethodConfig
from spade_contracts.errors import SpadeError
from spade_contracts.manifests import RunManifest, StepManifest
from spade_trainer.assembly import Batch, assemble
from spade_trainer.learner import checkpoint, offload, training
from spade_trainer.learner.backend import Backend
from spade_trainer.learner.build import Network, build, start_parallel
from spade_trainer.learner.exchange import broadcast_text, gather_texts
from spade_trainer.learner.export import export
from spade_trainer.learner.masters import parameter_sha256, require_masters_match
from spade_trainer.learner.rounding import nudged
from spade_trainer.store import layout, manifests, policies
from spade_trainer.store.objects import Store, local_path
from spade_trainer.store.staging import forget
from spade_trainer.weights.probe import CANARY_FACTOR, NOISE_DRAWS, NUDGED_SHARE, measured_noise, probe_tokens


class Kind(StrEnum):
    """What rank 0 can ask of the group."""

    WAIT = "wait"
    """Nothing; says that rank 0 lives."""
    STEP = "step"
    EXPORT = "export"
    CHECKPOINT = "checkpoint"
    CANARY = "canary"
    """Score the probe with the canary tensor scaled."""
    NOISE = "noise"
    """Measure how sensitive the probe is to rounding."""
    MOVE_OFF = "move_off"
    """Give the devices to the engines."""
    MOVE_ON = "move_on"
    """Take them back."""


@dataclass(frozen=True)
class Command:
    """One piece of work."""

    kind: Kind
    last_rollout: bool = False
    """Of a step: whether the run ends with it."""


@dataclass(frozen=True)
class Stepped:
    """What a step left behind."""

    manifest: StepManifest
    designer_reward_mean: float | None
    samples: dict[str, int]
    """By kind (Batch.counts)."""
    assemble_seconds: float
    step_seconds: float


class RanksDisagree(SpadeError):
    """Ranks assembled different batches from the same storage."""

    def __init__(self, rollout: int) -> None:
        super().__init__(
            f"ranks read different batches for rollout {rollout}; no step was taken.",
            remedy="Run storage must show the same files to all nodes of the learner.",
        )


class WrongCheckpoint(SpadeError):
    """A checkpoint's weights are not those that its manifest names."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"checkpoint {version} holds other parameters than its manifest says.",
            remedy=f"Remove {layout.checkpoint_folder(version)}; the learner replays from an older checkpoint.",
        )


class Group:
    """This rank's share of the learner. All public methods but `listen` are called on all ranks at once."""

    def __init__(self, store: Store, run: RunManifest, backend: Backend) -> None:
        self._store = store
        self._run = run
        self._backend = backend
        self._start = policies.policy_files(store, 0)
        self.version = 0
        self._moved: tuple[offload.Moved, ...] = ()
        """What is off the devices."""
        self._trained, self._reference = self._build()
        self.tokens = probe_tokens(run.method.seed, self.network.shape.vocab_size)
        self._resume()
        self.new = self._score()
        """The probe's log-probabilities under the present version."""

    @property
    def method(self) -> MethodConfig:
        """The run's settings."""
        return self._run.method

    @property
    def network(self) -> Network:
        """The network in training."""
        return self._trained.network

    def _build(self) -> tuple[training.Trainee, Network | None]:
        """Networks of policy 0: the one to train, and the reference if a penalty wants one."""
        settings = self._run.method.learner
        manifests.read_policy(self._store, 0)
        start_parallel(settings.parallelism, ranks=settings.ranks, seed=self._run.method.seed)
        network = build(self._start, settings.parallelism, self._backend, dtype=torch.bfloat16)
        trained = training.trainee(network, settings.optimizer, self._backend)
        require_masters_match(trained, "policy 0")
        reference = None
        if settings.loss.kl_coefficient > 0:
            reference = build(self._start, settings.parallelism, self._backend, dtype=torch.bfloat16)
        return trained, reference

    def _resume(self) -> None:
        """Load the latest checkpoint, if there is any."""
        self.old: tuple[float, ...] | None = None
        found = manifests.finished_checkpoints(self._store)
        latest = int(broadcast_text(str(found[-1] if found else 0), self._backend.control))
        if not latest:
            return
        digest = checkpoint.load(self._store, self._trained, latest)
        if digest != manifests.read_checkpoint(self._store, latest).parameter_sha256:
            raise WrongCheckpoint(latest)
        self.version = latest
        self.old = checkpoint.read_probe(self._store, latest)

    def listen(self) -> None:
        """Do what rank 0 asks, for ever. Ends with what a collective raises when rank 0 is gone."""
        while True:
            body = json.loads(broadcast_text("", self._backend.control))
            self.perform(Command(Kind(body["kind"]), body["last_rollout"]))

    def ask(self, command: Command) -> object:
        """On rank 0: have the group do something, this rank included; what `perform` returns."""
        broadcast_text(json.dumps(asdict(command)), self._backend.control)
        return self.perform(command)

    def perform(self, command: Command) -> object:
        """Do one piece of work. A step returns Stepped, a canary the scores, noise a figure, all else None."""
        match command.kind:
            case Kind.WAIT:
                pass
            case Kind.STEP:
                return self._step(command.last_rollout)
            case Kind.EXPORT:
                self._export()
            case Kind.CHECKPOINT:
                self._checkpoint()
            case Kind.CANARY:
                return self._canary()
            case Kind.NOISE:
                return self._noise()
            case Kind.MOVE_OFF:
                if not self._moved:
                    self._moved = offload.move_off(self._trained, self._reference)
            case Kind.MOVE_ON:
                offload.move_on(self._moved)
                self._moved = ()
        return None

    def _step(self, last_rollout: bool) -> Stepped:
        began = time.monotonic()
        batch = assemble(self._store, self._run, self.version, last_rollout=last_rollout)
        if len(set(gather_texts(batch.samples_sha256, self._backend.control))) != 1:
            raise RanksDisagree(batch.rollout)
        assembled = time.monotonic()
        result = training.step(self._trained, batch, self.method.learner.loss, self._reference)
        manifest = _manifest(batch, result, parameter_sha256(self._trained))
        self.version += 1
        self.old, self.new = self.new, self._score()
        seconds = (assembled - began, time.monotonic() - assembled)
        return Stepped(manifest, batch.designer_reward_mean, batch.counts, *seconds)

    def _export(self) -> None:
        """Write the present version's files; rank 0 finishes the policy with its manifest."""
        finished = bool(int(broadcast_text(str(int(self._finished_policy())), self._backend.control)))
        if finished:
            return
        export(
            self.network,
            self._start,
            local_path(self._store, layout.policy_folder(self.version)),
            self._backend.control,
        )
        if dist.get_rank() == 0:
            policies.finish(self._store, self.version)
            forget(self._store, layout.policy_folder(self.version))

    def _finished_policy(self) -> bool:
        return self.version in manifests.finished(self._store, layout.POLICIES, layout.POLICY)

    def _checkpoint(self) -> None:
        digest = parameter_sha256(self._trained)
        checkpoint.save(self._store, self._trained, self.version, digest, old_probe=self.old)

    def _score(self) -> tuple[float, ...]:
        return training.score(self.network, self.tokens, self._backend.device)

    def _canary(self) -> tuple[float, ...]:
        """Scores with the canary tensor scaled as the engine scales it."""
        with self._changed_norms() as norms:
            tensor = norms[self.network.family.NORM]
            tensor.copy_((tensor.float() * CANARY_FACTOR).to(tensor.dtype))
            return self._score()

    def _noise(self) -> float:
        """The noise of the probe under the present version, from norms nudged alike on all ranks."""
        scores = []
        for draw in range(NOISE_DRAWS):
            random = torch.Generator().manual_seed(draw)
            with self._changed_norms() as norms:
                for tensor in norms.values():
                    tensor.copy_(nudged(tensor, NUDGED_SHARE, random))
                scores.append(self._score())
        return measured_noise(self.new, scores)

    @contextmanager
    def _changed_norms(self) -> Iterator[dict[str, torch.Tensor]]:
        """The norms of this rank's layers by Hugging Face name, to be changed in place; restored at the end."""
        norms = {
            binding.tensors[0]: parameter.data
            for binding, parameter in self.network.parameters()
            if binding.tensors[0].endswith("norm.weight")
        }
        kept = {name: tensor.clone() for name, tensor in norms.items()}
        try:
            yield norms
        finally:
            for name, tensor in norms.items():
                tensor.copy_(kept[name])


def _manifest(batch: Batch, result: training.StepResult, digest: str) -> StepManifest:
    return StepManifest(
        rollout=batch.rollout,
        policy_version=batch.rollout + 1,
        player_samples=batch.player_samples,
        designer_samples=batch.designer_samples,
        designer_cycles=batch.designer_cycles,
        samples_sha256=batch.samples_sha256,
        loss=result.loss,
        gradient_norm=result.gradient_norm,
        kl=result.kl,
        importance_mean=result.importance_mean,
        importance_clipped_fraction=result.importance_clipped_fraction,
        tokens=batch.tokens,
        parameter_sha256=digest,
        world_size=dist.get_world_size(),
    )
