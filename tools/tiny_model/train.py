"""Train the tiny model from scratch: python -m tools.tiny_model.train --out FOLDER (from the repository root).

One thread, a fixed seed and a learning rate that falls with the tokens seen make two runs on one kind of machine equal.
"""

import argparse
import functools
import json
import logging
import math
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import torch
from tools.tiny_model.conversations import Conversation, conversations
from tools.tiny_model.encode import CONTENT_WORDS, Row, batches, content_tokens, encode
from tools.tiny_model.model import model_config, new_model, save
from tools.tiny_model.superwords import find_superwords
from tools.tiny_model.tokenizer import pieces, train_tokenizer

LOG = logging.getLogger("tiny_model")
CHUNKS = 12
"""Batches are cut from this many slices of the rows, so that lengths stay mixed over the whole run."""
TOKENIZER_ROWS, SUPERWORDS = 2500, 280
"""Conversations that the tokenizer is made from, and how many superwords it may have."""
BEGINNING_TOKENS = {"design": 26, "play": 60}
"""Tokens of a beginning after its first learned one."""
LONGEST_BEGINNING_TOKENS = 150
HELD_OUT_ROWS = 250
SAVES = 8
"""The model is saved this many times on the way."""


def beginnings(rows: list[Row]) -> list[Row]:
    """The first lines of short designs and the first turns of plays: few tokens, most of them copied or worked out."""
    result = []
    for row in rows:
        first = next(i for i, weight in enumerate(row.weights) if weight > 0)
        if row.kind in BEGINNING_TOKENS and first < LONGEST_BEGINNING_TOKENS - BEGINNING_TOKENS[row.kind]:
            end = first + BEGINNING_TOKENS[row.kind]
            result.append(Row(row.kind, row.ids[:end], row.weights[:end]))
    return result


@functools.cache
def multiplies_bf16() -> bool:
    """Whether this processor multiplies bf16 itself. Others emulate it, five times slower than they multiply fp32."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    return "avx512_bf16" in flags or "amx_bf16" in flags


def batch_loss(model: Any, rows: list[Row], pad: int) -> Any:
    """Weighted mean cross-entropy of a batch. Right padding under a causal mask needs no attention mask."""
    width = max(len(row.ids) for row in rows)
    ids = torch.full((len(rows), width), pad)
    weights = torch.zeros((len(rows), width))
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = torch.tensor(row.ids.tolist())
        weights[i, : len(row.ids)] = torch.tensor(row.weights.tolist())
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=multiplies_bf16()):
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
        keep = weights[:, 1:] > 0
        logits = model.lm_head(hidden[keep])
    losses = torch.nn.functional.cross_entropy(logits.float(), ids[:, 1:][keep], reduction="none")
    weight = weights[:, 1:][keep]
    return (losses * weight).sum() / weight.sum()


def held_out_loss(model: Any, rows: list[Row], pad: int) -> dict[str, float]:
    """Mean loss by kind of conversation."""
    result = {}
    for kind in sorted({row.kind for row in rows}):
        groups = batches([row for row in rows if row.kind == kind], 6000, Random(0))
        with torch.no_grad():
            losses = [batch_loss(model, group, pad).item() for group in groups]
        result[kind] = round(sum(losses) / len(losses), 4)
    return result


def rate_factor(progress: float) -> float:
    """Factor of the learning rate after that part of all tokens: a short rise, a plain, a straight fall."""
    return min(progress / 0.015 + 0.02, 1.0, max(0.01, (1.0 - progress) / 0.65))


def make_tokenizer(data: list[Conversation], vocabulary: int) -> Any:
    """A tokenizer made for these conversations."""
    texts = [message["content"] for conversation in data for message in conversation.messages]
    superwords = find_superwords(texts, pieces, least_count=len(data) // 28, most=SUPERWORDS)
    common = ["\n".join([str(number) for number in range(100)] + ["user", "assistant", "system"])] * 5000
    return train_tokenizer([*texts, *common], vocabulary, sorted(CONTENT_WORDS), superwords)


def new_optimizer(model: Any, rate: float) -> Any:
    """AdamW that decays matrices, embeddings excepted."""
    decayed = {n for n, p in model.named_parameters() if p.ndim >= 2 and "embed" not in n}
    groups = [
        {"params": [p for n, p in model.named_parameters() if n in decayed], "weight_decay": 0.1},
        {"params": [p for n, p in model.named_parameters() if n not in decayed], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.97))


def train_step(model: Any, optimizer: Any, batch: list[Row], pad: int, rate: float) -> float:
    """One step at that learning rate; returns the loss."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    loss = batch_loss(model, batch, pad)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.item())


def all_batches(phases: list[list[Row]], tokens: int, rng: Random) -> Iterator[list[Row]]:
    """The batches of each phase, one phase after the other."""
    for rows in phases:
        rng.shuffle(rows)
        size = math.ceil(len(rows) / CHUNKS)
        for start in range(0, len(rows), size):
            yield from batches(rows[start : start + size], tokens, rng)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--design", type=int, default=9500)
    parser.add_argument("--hint", type=int, default=900)
    parser.add_argument("--play", type=int, default=11500)
    parser.add_argument("--beginnings", type=int, default=8000, help="rows used by their beginning only")
    parser.add_argument("--vocabulary", type=int, default=1792)
    parser.add_argument("--batch-tokens", type=int, default=2000)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    return parser.parse_args()


def main() -> None:
    """Make the data, train, save, and write training.json beside the model's folder."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    rng = Random(arguments.seed)
    data = list(conversations(arguments.seed, arguments.design, arguments.hint, arguments.play))
    tokenizer = make_tokenizer(data[:TOKENIZER_ROWS], arguments.vocabulary)
    content = content_tokens(tokenizer)
    rows = [encode(tokenizer, conversation, content) for conversation in data]
    for kind in ("design", "hint", "play"):
        lengths = sorted(len(row.ids) for row in rows if row.kind == kind)
        LOG.info("%s: %d rows, mean %.0f, max %d tokens", kind, len(lengths), sum(lengths) / len(lengths), lengths[-1])
    held_out, rows = rows[:HELD_OUT_ROWS], rows[HELD_OUT_ROWS:]
    phases = [beginnings(rows[: arguments.beginnings]), rows[arguments.beginnings :]]
    total = sum(len(row.ids) for phase in phases for row in phase)
    config = model_config(tokenizer, arguments.vocabulary)
    model = new_model(config, tokenizer)
    optimizer = new_optimizer(model, arguments.learning_rate)
    parameters = sum(p.numel() for p in model.parameters())
    LOG.info("%d parameters, %d tokens to see", parameters, total)
    start, seen, steps, mean, saves = time.monotonic(), 0, 0, math.nan, 0
    for batch in all_batches(phases, arguments.batch_tokens, rng):
        rate = arguments.learning_rate * rate_factor(seen / total)
        loss = train_step(model, optimizer, batch, config.pad_token_id, rate)
        steps, seen = steps + 1, seen + sum(len(row.ids) for row in batch)
        mean = loss if math.isnan(mean) else 0.97 * mean + 0.03 * loss
        if steps % 25 == 0:
            LOG.info("step %d tokens %d loss %.4f, %.0f tokens/s", steps, seen, mean, seen / (time.monotonic() - start))
        if seen >= total * (saves + 1) / SAVES:
            saves += 1
            save(model, tokenizer, config, arguments.out)
            LOG.info("saved; held-out loss %s", held_out_loss(model, held_out, config.pad_token_id))
    save(model, tokenizer, config, arguments.out)
    summary = {
        "seed": arguments.seed,
        "conversations": {"design": arguments.design, "hint": arguments.hint, "play": arguments.play},
        "beginnings": arguments.beginnings,
        "tokens": seen,
        "steps": steps,
        "seconds": round(time.monotonic() - start),
        "parameters": parameters,
        "held_out_loss": held_out_loss(model, held_out, config.pad_token_id),
    }
    (arguments.out.parent / "training.json").write_text(json.dumps(summary, indent=1) + "\n")
    LOG.info("done %s", summary)


if __name__ == "__main__":
    main()
