"""vLLM's command line and environment: what an engine sets, and what a run may add."""

import sys
from collections.abc import Mapping
from pathlib import Path

from spade_contracts.errors import InvalidInput
from spade_contracts.resources.run_parts import ENGINE_ARGS
from spade_trainer.engine.model_facts import ModelFacts

EXTENSION = "spade_trainer.engine.extension.PolicyExtension"
SERVED_NAME = "policy"
"""vLLM's label for the model in metrics; constant, so that no path becomes a label."""
CPU_KV_CACHE_BYTES = 256 * 2**20
CPU_BATCH_TOKENS = 4096
MAX_SEQUENCES = 128
"""Requests computed at once; more wait inside vLLM."""


def vllm_arguments(
    facts: ModelFacts, model: Path, socket: Path, extra: Mapping[str, str], *, cpu: bool, sleeps: bool = False
) -> tuple[str, ...]:
    """The command that serves a model on a Unix socket.

    sleeps: whether it must be able to give its device memory back. The CPU build refuses to hear of that.
    extra: the run's arguments, without dashes; an empty value or `true` sets a flag, `false` its `no-` twin.
    Raises InvalidInput for an argument that is not in ENGINE_ARGS, whatever the API server let through.
    """
    refused = sorted(set(extra) - set(ENGINE_ARGS))
    if refused:
        raise InvalidInput(
            f"engine.args.{refused[0]}", "is not an argument that a run may set", remedy=f"Use of {list(ENGINE_ARGS)}."
        )
    defaults = {"max-model-len": str(facts.max_tokens), "max-num-seqs": str(MAX_SEQUENCES), "dtype": "bfloat16"}
    if cpu:
        room = max_model_tokens(facts, extra) + MAX_SEQUENCES
        defaults |= {
            "enforce-eager": "true",
            "kv-cache-memory-bytes": str(CPU_KV_CACHE_BYTES),
            "max-num-batched-tokens": str(max(room, CPU_BATCH_TOKENS)),
        }
    fixed = {
        "model": str(model),
        "served-model-name": SERVED_NAME,
        "uds": str(socket),
        "enable-scale-out": "true",
        "logprobs-mode": "processed_logprobs",
        "generation-config": "vllm",
        "skip-tokenizer-init": "true",
        "worker-extension-cls": EXTENSION,
        "uvicorn-log-level": "warning",
        "disable-uvicorn-access-log": "true",
    }
    if sleeps and not cpu:
        fixed["enable-sleep-mode"] = "true"
    if cpu:
        # A prompt computed in parts makes vLLM rewind its request's random generator, which those on CPU cannot: the
        # whole engine ends. So each prompt is computed at once.
        fixed["enable-chunked-prefill"] = "false"
    if cpu and _ranks(extra) == 1:
        fixed["distributed-executor-backend"] = "uni"
    words = [_word(name, value) for name, value in {**defaults, **extra, **fixed}.items()]
    launcher = (sys.executable, "-m", "spade_trainer.engine.vllm_server")
    return (*launcher, facts.architecture if cpu else "-", *words)


def max_model_tokens(facts: ModelFacts, extra: Mapping[str, str]) -> int:
    """Longest sequence of prompt and answer that the engine takes. Raises InvalidInput if the run's is no number."""
    text = extra.get("max-model-len", str(facts.max_tokens))
    if not text.isdigit() or not 2 <= int(text) <= facts.max_tokens:
        raise InvalidInput("engine.args.max-model-len", f"{text!r} is not a number from 2 to {facts.max_tokens}")
    return int(text)


def vllm_environment(base: Mapping[str, str], scratch: Path, *, cpu: bool, threads: int) -> dict[str, str]:
    """vLLM's environment: writable folders, no network look-ups, no telemetry, and on CPU no compiler.

    scratch: a writable folder. threads: OpenMP threads, used where OMP_NUM_THREADS is not set.
    """
    home = base.get("HOME") or str(scratch)
    defaults = {
        "HOME": home,
        "TMPDIR": str(scratch),
        "VLLM_CACHE_ROOT": str(scratch / "vllm"),
        "XDG_CACHE_HOME": str(scratch / "cache"),
        # Its warnings are about what is set on purpose here: open routes on the socket, eager mode, no tokenizer.
        "VLLM_LOGGING_LEVEL": "ERROR",
        "PYTHONWARNINGS": "ignore",
    }
    fixed = {
        "VLLM_SERVER_DEV_MODE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_PLUGINS": "",
    }
    if cpu:
        defaults |= {"OMP_NUM_THREADS": str(threads)}
        # One process computes, without pinning: pods share cores that they do not own. Without a compiler in the image
        # torch.compile would fail at the first request; with one it would cost half a minute there.
        fixed |= {
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "TORCHDYNAMO_DISABLE": "1",
        }
    return {**defaults, **base, **fixed}


def _ranks(extra: Mapping[str, str]) -> int:
    sizes = [extra.get(name, "1") for name in ("tensor-parallel-size", "pipeline-parallel-size")]
    return 1 if all(size == "1" for size in sizes) else 2


def _word(name: str, value: str) -> str:
    if value in ("", "true"):
        return f"--{name}"
    return f"--no-{name}" if value == "false" else f"--{name}={value}"
