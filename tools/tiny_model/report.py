"""Measure a trained model and write docs/tiny-model.md: python -m tools.tiny_model.report (from the repository root).

Figures go to tools/tiny_model/report.json first, and the page is made from them.
"""

import argparse
import json
import logging
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.tiny_model.evaluate import (
    Known,
    PlayedGame,
    design,
    hints_for,
    known_from_training,
    play,
    written_games,
)
from tools.tiny_model.families import HELD_OUT_FAMILIES, TRAINING_FAMILIES
from tools.tiny_model.page import render
from tools.tiny_model.prompts import PROMPT_SETS
from tools.tiny_model.sampling import Sampler, load_sampler
from tools.tiny_model.tokenizer import THINK_END, THINK_START

LOG = logging.getLogger("tiny_model")
HERE = Path("tools/tiny_model")
TEMPERATURE, TOP_P = 0.6, 0.95


def machine() -> dict[str, Any]:
    """Where the figures were taken."""
    return {"cores": os.cpu_count(), "kernel": platform.release(), "python": platform.python_version()}


def vocabulary(model: Path) -> dict[str, int]:
    """Size of the vocabulary, and how many of its tokens are superwords: added, not special, no think tags."""
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    added = [token["content"] for token in tokenizer["added_tokens"] if not token["special"]]
    ids = {token["id"] for token in tokenizer["added_tokens"]} | set(tokenizer["model"]["vocab"].values())
    return {"tokens": len(ids), "superwords": sum(text not in (THINK_START, THINK_END) for text in added)}


def measure(sampler: Sampler, known: Known, arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """All figures, and samples worth reading: programs, hints and transcripts."""
    figures: dict[str, Any] = {"design": [], "play": []}
    designed, numbers = design(sampler, PROMPT_SETS[0], arguments.count, known, TEMPERATURE, TOP_P, arguments.seed)
    figures["design"].append(numbers)
    LOG.info("%s", numbers)
    others = [(prompts, TEMPERATURE, TOP_P) for prompts in PROMPT_SETS[1:]]
    others += [(PROMPT_SETS[0], TEMPERATURE, 1.0), (PROMPT_SETS[0], 1.0, 1.0)]
    for prompts, temperature, top_p in others:
        _, numbers = design(sampler, prompts, arguments.held_out_count, known, temperature, top_p, arguments.seed + 1)
        figures["design"].append(numbers)
        LOG.info("%s", numbers)
    own = [
        PlayedGame(
            d.judgement.program, d.judgement.family or "unknown", d.judgement.expert_wins, d.judgement.random_wins
        )
        for d in designed
        if d.judgement.valid
    ][: arguments.games]
    hints = hints_for(sampler, own)
    transcripts = []
    for label, games, given in (
        ("its own, unhinted", own, None),
        ("its own, with its own hints", own, hints),
        ("the generator's, trained families", written_games(TRAINING_FAMILIES, arguments.held_out_count, 1), None),
        (
            "the generator's, held-out families",
            written_games(HELD_OUT_FAMILIES, arguments.held_out_count // 2, 2),
            None,
        ),
    ):
        episodes, numbers = play(sampler, label, games, TEMPERATURE, TOP_P, given)
        figures["play"].append(numbers)
        transcripts.append([e.messages for e in episodes[:: max(1, len(episodes) // 12)]])
        LOG.info("%s", numbers)
    samples = {
        "answers": [
            {
                "document": d.request.document,
                "skill": d.request.skill,
                "answer": d.completion.text,
                "stage": d.judgement.stage,
                "notes": d.judgement.notes,
                "document_matters": d.judgement.document_matters,
            }
            for d in designed
        ],
        "hints": hints,
        "transcripts": transcripts,
    }
    return figures, samples


def main() -> None:
    """Measure, write the figures, write the page."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=Path("trainer/spade_trainer/models/tiny"))
    parser.add_argument("--training", type=Path, default=HERE / "training.json")
    parser.add_argument("--json", type=Path, default=HERE / "report.json")
    parser.add_argument("--page", type=Path, default=Path("docs/tiny-model.md"))
    parser.add_argument("--samples", type=Path, help="write what was sampled here, to be read")
    parser.add_argument("--count", type=int, default=200, help="answers on new documents")
    parser.add_argument("--held-out-count", type=int, default=60)
    parser.add_argument("--games", type=int, default=120, help="own environments to play")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    training = json.loads(arguments.training.read_text())
    sampler = load_sampler(arguments.model, arguments.seed)
    figures, samples = measure(sampler, known_from_training(training), arguments)
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "seed": arguments.seed,
        "machine": machine(),
        "training": training,
        "vocabulary": vocabulary(arguments.model),
        "weights_bytes": (arguments.model / "model.safetensors").stat().st_size,
        **figures,
    }
    arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    arguments.page.parent.mkdir(exist_ok=True)
    arguments.page.write_text(render(report))
    if arguments.samples:
        arguments.samples.write_text(json.dumps(samples, indent=1) + "\n")


if __name__ == "__main__":
    main()
