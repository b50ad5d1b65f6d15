"""An engine's start, memory and speed at the mini run's model size: tests/bench/results/engine.json.

    python -m tests.bench.engine

The model is random, with the tiny model's shape; the machine should have nothing else to do.
"""

import asyncio
import json
import shutil
import tempfile
import time
from pathlib import Path

import aiohttp
import psutil
import torch
from tests.bench.record import Figure, at_most, measured, write
from tests.component.engine.conftest import (
    DATA_TOKEN,
    RunningEngine,
    start_engine,
    stop_engine,
    wait_for_boot,
)
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

from spade_trainer.store import layout, policies
from spade_trainer.store.objects import Store, open_store

VOCABULARY = 1536
PROMPT_TOKENS = 300
NEW_TOKENS = 128
BATCHES = (1, 24, 64, 128)
START_BOUND_SECONDS = 60
MEMORY_BOUND_GIB = 3
LOADS = 5


def write_policy(store: Store) -> None:
    """Policy 0: random, of the tiny model's shape."""
    folder = Path(store.root) / layout.policy_folder(0)
    config = Qwen3MoeConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=384,
        moe_intermediate_size=192,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        num_experts=8,
        num_experts_per_tok=2,
        norm_topk_prob=True,
        max_position_embeddings=2048,
        # No token of a random model is drawn often, so nearly all generations have their full length.
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    Qwen3MoeForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [1]}))
    policies.finish(store, 0)


def memory_gib(engine: RunningEngine) -> float:
    """Proportional set size of the engine and everything it started."""
    own = psutil.Process(engine.process.pid)
    return float(sum(process.memory_full_info().pss for process in (own, *own.children(recursive=True)))) / 2**30


def cpu_seconds(engine: RunningEngine) -> float:
    """CPU time that the engine and everything it started have used."""
    own = psutil.Process(engine.process.pid)
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return float(sum(entry.user + entry.system for entry in times))


async def generation(engine: RunningEngine, batch: int) -> tuple[float, float]:
    """Generated tokens per second, and per second of processor time, with this many requests at once."""
    headers = {"Authorization": f"Bearer {DATA_TOKEN}"}

    async def one(session: aiohttp.ClientSession, seed: int) -> int:
        body = {
            "token_ids": [(seed + 31 * i) % VOCABULARY for i in range(PROMPT_TOKENS)],
            "temperature": 1.0,
            "max_new_tokens": NEW_TOKENS,
            "seed": seed,
            "policy_version": 0,
        }
        async with session.post(f"http://127.0.0.1:{engine.data_port}/generate", json=body, headers=headers) as answer:
            return len((await answer.json())["token_ids"])

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(one(session, 10_000 + seed) for seed in range(batch)))
        began, used = time.monotonic(), cpu_seconds(engine)
        drawn = sum(await asyncio.gather(*(one(session, seed) for seed in range(batch))))
        return drawn / (time.monotonic() - began), drawn / (cpu_seconds(engine) - used)


def main() -> None:
    """Measure and write."""
    folder = Path(tempfile.mkdtemp(prefix="spade-bench-"))
    store = open_store(f"file://{folder}/storage")
    write_policy(store)
    began = time.monotonic()
    engine = start_engine(folder / "engine", store)
    try:
        wait_for_boot(engine)
        figures: list[Figure] = [
            at_most("start until the policy is loaded", time.monotonic() - began, "s", START_BOUND_SECONDS),
            measured("processor time of the start", cpu_seconds(engine), "s"),
        ]
        loads = [float(engine.control("/load", load_request(engine))["seconds"]) for _ in range(LOADS)]
        engine.admit(0)
        figures.append(measured("hand-over of a policy, median", sorted(loads)[LOADS // 2], "s"))
        for batch in BATCHES:
            speed, thrift = asyncio.run(generation(engine, batch))
            figures.append(measured(f"generation, {batch} at once", speed, "tokens/s"))
            figures.append(measured(f"generation, {batch} at once, by processor time", thrift, "tokens/s"))
        figures.append(at_most("memory, processes together", memory_gib(engine), "GiB", MEMORY_BOUND_GIB))
    finally:
        stop_engine(engine)
        shutil.rmtree(folder)
    note = f"prompts of {PROMPT_TOKENS} tokens, {NEW_TOKENS} new tokens, one thread, empty caches at start"
    print(write("engine", "python -m tests.bench.engine", figures, note=note).read_text())


def load_request(engine: RunningEngine) -> dict[str, object]:
    """Hand over policy 0 again."""
    return {"policy_version": 0, "uri": engine.uri(0)}


if __name__ == "__main__":
    main()
