"""What tests have ranks do. Every function runs on each rank, with that rank's backend first."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from tests.component.learner.tiny import VOCABULARY

from spade_contracts.config import LossConfig, OptimizerConfig, ParallelismConfig
from spade_contracts.errors import InvalidInput
from spade_trainer.assembly import Batch, Sample, SampleRole
from spade_trainer.learner import checkpoint, export, masters, offload, training
from spade_trainer.learner.backend import Backend
from spade_trainer.learner.build import Network, build, start_parallel
from spade_trainer.learner.loss import kl_penalty, summed_sample_means, token_losses
from spade_trainer.store.objects import open_store

OPTIMIZER = OptimizerConfig(learning_rate=1e-3, beta1=0.9, beta2=0.98, weight_decay=0.1, clip_gradient_norm=1.0)


def loss_config(kl: float = 0.0, budget: int = 700) -> LossConfig:
    return LossConfig(
        clip_low=0.2,
        clip_high=0.28,
        importance_low=0.0,
        importance_high=2.0,
        kl_coefficient=kl,
        temperature=1.0,
        max_tokens_per_microbatch=budget,
    )


def batch(samples: int = 10, *, seed: int = 0, temperature: float = 0.8) -> Batch:
    """Random tokens with random credit."""
    draws, made = np.random.default_rng(seed), []
    for index in range(samples):
        tokens = int(draws.integers(20, 200))
        mask = (np.arange(tokens) >= 8) & (draws.random(tokens) < 0.7)
        made.append(
            Sample(
                id=f"s{index}",
                role=SampleRole.PLAYER,
                group="g",
                token_ids=draws.integers(0, VOCABULARY, tokens).astype(np.int32),
                loss_mask=mask,
                log_probs=np.where(mask, draws.normal(-6.2, 0.4, tokens), 0).astype(np.float32),
                prompt_tokens=8,
                advantage=float(draws.normal()),
                temperature=temperature,
                denominator_tokens=max(1, int(mask.sum())),
                policy_version=0,
            )
        )
    return Batch(0, 0, tuple(made), float(samples), (), None, "0" * 64)


def network(backend: Backend, folder: str, layout: dict[str, int], *, dtype: torch.dtype = torch.bfloat16) -> Network:
    parallelism = ParallelismConfig(**layout)
    start_parallel(parallelism, ranks=dist.get_world_size(), seed=1)
    return build(Path(folder), parallelism, backend, dtype=dtype)


def logits_apart(backend: Backend, folder: str, tokens: int, rope_theta: float | None) -> float:
    """Largest difference of fp32 logits from transformers', which is told another rope base if one is given."""
    from transformers import AutoConfig, AutoModelForCausalLM

    ours = network(backend, folder, {}, dtype=torch.float32)
    config = AutoConfig.from_pretrained(folder)
    if rope_theta is not None:
        config.rope_parameters = {"rope_type": "default", "rope_theta": rope_theta}
    theirs = AutoModelForCausalLM.from_pretrained(folder, config=config, dtype=torch.float32)
    ids = torch.randint(0, VOCABULARY, (1, tokens), generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        found = ours.module(ids, torch.arange(tokens)[None], None).float()
        return float((found - theirs(ids).logits).abs().max())


def two_steps(backend: Backend, folder: str, layout: dict[str, int], kl: float, out: str | None) -> dict[str, Any]:
    """Two steps on two batches; exports the result if asked to."""
    trained = training.trainee(network(backend, folder, layout), OPTIMIZER, backend)
    reference = build(Path(folder), trained.network.parallelism, backend, dtype=torch.bfloat16) if kl else None
    before = masters.parameter_sha256(trained)
    results = [training.step(trained, batch(seed=s), loss_config(kl), reference) for s in (0, 1)]
    if out is not None:
        export.export(trained.network, Path(folder), Path(out), backend.control)
        dist.barrier()
    return {
        "before": before,
        "steps": [dataclasses.asdict(result) for result in results],
        "after": masters.parameter_sha256(trained),
        "scores": training.score(trained.network, tuple(range(40)), backend.device),
    }


def scores(backend: Backend, folder: str, tokens: tuple[int, ...]) -> list[float]:
    """Log-probabilities of the tokens but the first."""
    return list(training.score(network(backend, folder, {}), tokens, backend.device))


def steps_with_moves(backend: Backend, folder: str, layout: dict[str, int], kl: float) -> dict[str, Any]:
    """The steps of `two_steps`, off the device before and between them; and what was left on it meanwhile."""
    trained = training.trainee(network(backend, folder, layout), OPTIMIZER, backend)
    reference = build(Path(folder), trained.network.parallelism, backend, dtype=torch.bfloat16) if kl else None
    results, left = [], []
    for seed in (0, 1):
        moved = offload.move_off(trained, reference)
        networks = [one.module for one in (trained.network, reference) if one is not None]
        parameters = [parameter for module in networks for parameter in module.parameters()]
        left.append(sum(parameter.untyped_storage().nbytes() for parameter in parameters))
        offload.move_on(moved)
        results.append(training.step(trained, batch(seed=seed), loss_config(kl), reference))
    return {
        "steps": [dataclasses.asdict(result) for result in results],
        "after": masters.parameter_sha256(trained),
        "left": left,
        "moved_bytes": sum(one.size for one in moved),
        "parameter_bytes": sum(parameter.nbytes for parameter in trained.network.module.parameters()),
    }


def step_like_transformers(backend: Backend, folder: str, kl: float) -> dict[str, tuple[float, float]]:
    """Loss, penalty and gradient norm of one step: ours, and those of a plain loop over transformers' fp32 model."""
    from transformers import AutoModelForCausalLM

    trained = training.trainee(network(backend, folder, {}), OPTIMIZER, backend)
    reference_folder = str(Path(folder).parent / "reference")
    reference = build(Path(reference_folder), trained.network.parallelism, backend, dtype=torch.bfloat16)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    past = AutoModelForCausalLM.from_pretrained(reference_folder, dtype=torch.float32)
    wanted, config = batch(), loss_config(kl)
    loss, penalty = torch.zeros(()), torch.zeros(())
    for sample in wanted.samples:
        ids = torch.from_numpy(sample.token_ids.astype(np.int64))[None]
        present, old = (_log_probs(each, ids, sample.temperature) for each in (model, past))
        drawn = torch.from_numpy(sample.log_probs)[None, 1:]
        by_token, _, _ = token_losses(present, drawn, torch.tensor(sample.advantage), config)
        mask, denominator = torch.from_numpy(sample.loss_mask)[None, 1:], torch.tensor([sample.denominator_tokens])
        loss = loss + summed_sample_means(by_token, mask, denominator) / wanted.denominator
        penalty = (
            penalty + summed_sample_means(kl_penalty(present, old.detach()), mask, denominator) / wanted.denominator
        )
    (loss + kl * penalty).backward()
    norm = torch.sqrt(sum((p.grad**2).sum() for p in model.parameters() if p.grad is not None))
    ours = training.step(trained, wanted, config, reference)
    return {
        "loss": (ours.loss, float((loss + kl * penalty).detach())),
        "kl": (ours.kl, float(penalty.detach())),
        "norm": (ours.gradient_norm, float(norm)),
    }


def _log_probs(model: Any, ids: torch.Tensor, temperature: float) -> torch.Tensor:
    logits = model(ids).logits[:, :-1] / temperature
    return torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None])[:, :, 0]


def save_checkpoint(backend: Backend, folder: str, layout: dict[str, int], storage: str) -> dict[str, Any]:
    """One step, a checkpoint, and then another step."""
    trained = training.trainee(network(backend, folder, layout), OPTIMIZER, backend)
    training.step(trained, batch(), loss_config(), None)
    digest = masters.parameter_sha256(trained)
    checkpoint.save(open_store(storage), trained, 1, digest, old_probe=(-1.5, -2.5))
    training.step(trained, batch(seed=1), loss_config(), None)
    return {"saved": digest, "next": masters.parameter_sha256(trained)}


def load_checkpoint(backend: Backend, folder: str, layout: dict[str, int], storage: str) -> dict[str, Any]:
    """The checkpoint, and then the step that followed it."""
    trained = training.trainee(network(backend, folder, layout), OPTIMIZER, backend)
    digest = checkpoint.load(open_store(storage), trained, 1)
    result = training.step(trained, batch(seed=1), loss_config(), None)
    return {"saved": digest, "next": masters.parameter_sha256(trained), "loss": result.loss}


def step_on_infinity(backend: Backend, folder: str) -> tuple[str, bool]:
    """A step on a batch with an infinite advantage: the error's name, and whether the parameters are as before."""
    trained = training.trainee(network(backend, folder, {"expert": dist.get_world_size()}), OPTIMIZER, backend)
    before = masters.parameter_sha256(trained)
    good = batch()
    bad = dataclasses.replace(
        good, samples=(dataclasses.replace(good.samples[0], advantage=float("inf")), *good.samples[1:])
    )
    try:
        training.step(trained, bad, loss_config(), None)
    except training.StepNotFinite as error:
        return type(error).__name__, masters.parameter_sha256(trained) == before
    return "", False


def step_on_nothing(backend: Backend, folder: str) -> bool:
    """Whether a batch without samples, and one of masked samples only, leave the parameters as they were, also after a
    step that left momentum.
    """
    trained = training.trainee(network(backend, folder, {}), OPTIMIZER, backend)
    whole = batch()
    training.step(trained, whole, loss_config(), None)
    before = masters.parameter_sha256(trained)
    masked = (dataclasses.replace(one, loss_mask=np.zeros_like(one.loss_mask)) for one in whole.samples)
    empty = (dataclasses.replace(whole, samples=()), dataclasses.replace(whole, samples=tuple(masked)))
    return all(training.step(trained, one, loss_config(), None) == training.NO_STEP for one in empty) and (
        masters.parameter_sha256(trained) == before
    )


def spoil_a_master(backend: Backend, folder: str) -> str:
    """What the guard says when a master is not its weight."""
    trained = training.trainee(network(backend, folder, {}), OPTIMIZER, backend)
    masters.require_masters_match(trained, "policy 0")
    trained.optimizer.chained_optimizers[0].shard_fp32_from_float16_groups[0][0].data.add_(0.5)
    try:
        masters.require_masters_match(trained, "checkpoint 9")
    except masters.MastersDiffer as error:
        return str(error)
    return ""


def export_unchanged(backend: Backend, folder: str, layout: dict[str, int], out: str) -> None:
    """Load and export."""
    export.export(network(backend, folder, layout), Path(folder), Path(out), backend.control)
    dist.barrier()


def context_parallel_attention(backend: Backend) -> str:
    """What Megatron's plain attention says to two context-parallel ranks."""
    from megatron.core.transformer.dot_product_attention import DotProductAttention
    from megatron.core.transformer.enums import AttnMaskType
    from megatron.core.transformer.transformer_config import TransformerConfig

    start_parallel(ParallelismConfig(), ranks=dist.get_world_size(), seed=1)
    config = TransformerConfig(num_layers=1, hidden_size=8, num_attention_heads=2, context_parallel_size=2)
    try:
        DotProductAttention(config, 1, AttnMaskType.causal, "self")
    except AssertionError as error:
        return str(error)
    return ""


def refused_layout(backend: Backend, folder: str, layout: dict[str, int]) -> str:
    """Which field the refusal of a layout names."""
    try:
        network(backend, folder, layout)
    except InvalidInput as error:
        return error.where
    return ""
