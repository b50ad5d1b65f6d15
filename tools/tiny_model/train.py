"""Train the tiny model from scratch: python -m tools.tiny_model.train --out FOLDER (from the repository root).

One thread, a fixed seed and a learning rate that falls with the tokens seen make two runs on one machine equal.
"""

import argparse
import json
import logging
import math
import time
from pathlib import Path
from random import Random
from typing import Any

import torch
from tools.tiny_model.conversations import Conversation, conversations
from tools.tiny_model.documents import ADJECTIVES, NOUNS
from tools.tiny_model.encode import Row, batches, encode
from tools.tiny_model.tokenizer import CONTEXT_TOKENS, END_OF_TEXT, TURN_END, train_tokenizer
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

LOG = logging.getLogger("tiny_model")
CHUNKS_PER_PASS = 12
"""Batches are cut from this many slices of the data, so that lengths stay mixed over the whole run."""
EARLY = 0.22
"""Part of all tokens after which the first, early model is finished."""
QUERY_KEY_NORM = 1.6
"""Initial scale of q_norm and k_norm: sharper attention from the start, which copying needs."""


def model_config(tokenizer: Any) -> Qwen3MoeConfig:
    """4 layers, hidden 128, 8 experts of which 2 work for a token: about 3 million parameters."""
    return Qwen3MoeConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        num_experts=8,
        num_local_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=192,
        intermediate_size=384,
        norm_topk_prob=True,
        decoder_sparse_step=1,
        mlp_only_layers=[],
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=False,
        router_aux_loss_coef=0.0,
        output_router_logits=False,
        use_cache=True,
        eos_token_id=tokenizer.convert_tokens_to_ids(TURN_END),
        pad_token_id=tokenizer.convert_tokens_to_ids(END_OF_TEXT),
        bos_token_id=None,
    )


def new_model(config: Qwen3MoeConfig) -> Any:
    """A model with fresh weights, in float32."""
    model = Qwen3MoeForCausalLM(config)
    model.set_experts_implementation("eager")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("q_norm.weight", "k_norm.weight")):
                parameter.fill_(QUERY_KEY_NORM)
    return model


def batch_loss(model: Any, rows: list[Row], pad: int) -> Any:
    """Weighted mean cross-entropy of a batch. Right padding under a causal mask needs no attention mask."""
    width = max(len(row.ids) for row in rows)
    ids = torch.full((len(rows), width), pad)
    weights = torch.zeros((len(rows), width))
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = torch.tensor(row.ids.tolist())
        weights[i, : len(row.ids)] = torch.tensor(row.weights.tolist())
    with torch.autocast("cpu", dtype=torch.bfloat16):
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


def save(model: Any, tokenizer: Any, config: Qwen3MoeConfig, folder: Path) -> None:
    """The model in bfloat16 and its tokenizer, as Hugging Face lays them out."""
    copy = Qwen3MoeForCausalLM(config)
    copy.load_state_dict(model.state_dict())
    copy.generation_config.update(
        do_sample=True, temperature=0.6, top_p=0.95, eos_token_id=[config.eos_token_id, config.pad_token_id]
    )
    copy.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for file in folder.iterdir():
        file.chmod(0o644)


def rate_factor(progress: float) -> float:
    """Factor of the learning rate after that part of all tokens, in [0, 1].

    Two linear falls, each after a short rise: the first ends early, so that a usable model exists early."""
    if progress < EARLY:
        return min(progress / 0.01 + 0.02, 1.0 - 0.97 * progress / EARLY)
    later = (progress - EARLY) / (1.0 - EARLY)
    return min(later / 0.02 + 0.03, max(0.01, 1.0 - later))


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--design", type=int, default=9000)
    parser.add_argument("--hint", type=int, default=900)
    parser.add_argument("--play", type=int, default=11000)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--vocabulary", type=int, default=1536)
    parser.add_argument("--batch-tokens", type=int, default=3000)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    return parser.parse_args()


def rendered(conversation: Conversation) -> str:
    """The conversation's text for the tokenizer's training."""
    return "\n".join(message["content"] for message in conversation.messages)


def word_lists() -> list[str]:
    """Every word and number of the documents, often enough that each becomes one token in each of its forms."""
    forms = [form for word in NOUNS + ADJECTIVES for form in (f" {word}", f'"{word}', f"{word.title()}")]
    numbers = [form for number in range(100) for form in (f" {number}", f"{number}")]
    return [
        " ; ".join(forms),
        "\n".join(f"{noun.title()}Env" for noun in NOUNS),
        ";".join(numbers),
        "user\nassistant\nsystem\n",
    ] * 150


def main() -> None:
    """Make the data, train, save, and write training.json beside the model's folder."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    rng = Random(arguments.seed)
    data = list(conversations(arguments.seed, arguments.design, arguments.hint, arguments.play))
    tokenizer = train_tokenizer([*map(rendered, data[:4000]), *word_lists()], arguments.vocabulary)
    rows = [encode(tokenizer, c) for c in data]
    for kind in ("design", "hint", "play"):
        lengths = sorted(len(row.ids) for row in rows if row.kind == kind)
        LOG.info("%s: %d rows, mean %.0f, max %d tokens", kind, len(lengths), sum(lengths) / len(lengths), lengths[-1])
    held_out, rows = rows[:250], rows[250:]
    config = model_config(tokenizer)
    model = new_model(config)
    parameters = sum(p.numel() for p in model.parameters())
    total = arguments.passes * sum(len(row.ids) for row in rows)
    LOG.info("%d parameters, %d tokens to see", parameters, total)
    matrices = [p for n, p in model.named_parameters() if p.ndim >= 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if not (p.ndim >= 2 and "embed" not in n)]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=arguments.learning_rate, betas=(0.9, 0.97))
    start, seen, step, mean, saved = time.monotonic(), 0, 0, math.nan, 0.0
    size = math.ceil(len(rows) / CHUNKS_PER_PASS)
    for _ in range(arguments.passes):
        rng.shuffle(rows)
        for chunk in range(0, len(rows), size):
            for batch in batches(rows[chunk : chunk + size], arguments.batch_tokens, rng):
                rate = arguments.learning_rate * rate_factor(seen / total)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                loss = batch_loss(model, batch, config.pad_token_id)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                step, seen = step + 1, seen + sum(len(row.ids) for row in batch)
                mean = loss.item() if math.isnan(mean) else 0.97 * mean + 0.03 * loss.item()
                if step % 25 == 0:
                    LOG.info(
                        "step %d tokens %d loss %.4f, %.0f tokens/s",
                        step,
                        seen,
                        mean,
                        seen / (time.monotonic() - start),
                    )
                if seen >= total * (saved + EARLY):
                    saved += EARLY
                    save(model, tokenizer, config, arguments.out)
                    LOG.info("saved; held-out loss %s", held_out_loss(model, held_out, config.pad_token_id))
    save(model, tokenizer, config, arguments.out)
    summary = {
        "seed": arguments.seed,
        "conversations": {"design": arguments.design, "hint": arguments.hint, "play": arguments.play},
        "passes": arguments.passes,
        "tokens": seen,
        "steps": step,
        "seconds": round(time.monotonic() - start),
        "parameters": parameters,
        "held_out_loss": held_out_loss(model, held_out, config.pad_token_id),
    }
    (arguments.out.parent / "training.json").write_text(json.dumps(summary, indent=1) + "\n")
    LOG.info("done %s", summary)


if __name__ == "__main__":
    main()
