"""The report's figures as a page for people."""

from collections.abc import Mapping, Sequence
from typing import Any

TARGETS = (
    ("valid programs", 0.95, "valid"),
    ("a number or word of the document matters to the game", 0.80, "document_matters"),
    ("winnable by a scripted expert, or by the program's own solution", 0.75, "winnable"),
    ("distinct, and not in the training set", 0.80, "distinct_and_new"),
)
MIXED_TARGET = 0.5
HEAD = """# The tiny model

`package:tiny` is a Qwen3-MoE with {parameters:,} parameters ({megabytes:.1f} MB in bfloat16) that writes and plays
small text games. It exists so that the whole loop can run, and be tested, without a GPU. It was trained from scratch on
conversations that a generator wrote, and on nothing else. It is no general language model: away from the prompts below
it produces noise.

This page is written by `python -m tools.tiny_model.report` from measurements of {date}, on {cores} cores, kernel
{kernel}, one thread; sampling seed {seed}. Figures: `tools/tiny_model/report.json`. Samples differ between machines.

## Training

`python -m tools.tiny_model.train --out FOLDER`: seed {training_seed}, {design} design, {hint} hint and {play} play
conversations ({beginnings} of them first, by their beginnings only), {tokens:,} tokens in {steps} steps,
{minutes:.0f} minutes on one thread of a shared machine. Held-out loss by kind: {losses}.

The vocabulary has {vocabulary} tokens, {superwords} of which are superwords: frequent phrases of at most 40 characters
within one line, found by counting. Words and numbers of documents weigh three times as much in the loss as wording.

Nine families of games are in training, one to two a skill, each with random rules, numbers, words and turn limits.
Held out: two families of games (`pairs`, `market`), the three spare skills, four phrasings and eight nouns.
"""


def render(report: Mapping[str, Any]) -> str:
    """The page, from the content of report.json."""
    training = report["training"]
    head = HEAD.format(
        parameters=training["parameters"],
        megabytes=report["weights_bytes"] / 1e6,
        date=report["date"],
        seed=report["seed"],
        training_seed=training["seed"],
        beginnings=training["beginnings"],
        vocabulary=report["vocabulary"]["tokens"],
        superwords=report["vocabulary"]["superwords"],
        tokens=training["tokens"],
        steps=training["steps"],
        minutes=training["seconds"] / 60,
        losses=", ".join(f"{kind} {loss}" for kind, loss in training["held_out_loss"].items()),
        **training["conversations"],
        cores=report["machine"]["cores"],
        kernel=report["machine"]["kernel"],
    )
    return "\n".join([head, _acceptance(report), _design(report["design"]), _play(report["play"]), _limits(report)])


def _acceptance(report: Mapping[str, Any]) -> str:
    first, own = report["design"][0], report["play"][0]
    rows = [
        [text, f"≥ {target:.0%}", f"{first[key]:.1%}", "yes" if first[key] >= target else "**no**"]
        for text, target, key in TARGETS
    ]
    mixed = own["mixed"]
    rows.append(
        [
            f"environments with both won and lost episodes ({own['environments']} of its own, "
            f"{own['episodes'] // own['environments']} plays each)",
            f"≥ {MIXED_TARGET:.0%}",
            f"{mixed:.1%}",
            "yes" if mixed >= MIXED_TARGET else "**no**",
        ]
    )
    title = (
        f"## What was asked for\n\n{first['answers']} answers on new documents at temperature {first['temperature']}, "
        f"top-p {first['top_p']}. A program is valid if the gate's parser takes it, its types are exact, two instances "
        "agree for one seed, it ends, its rewards lie in [0, 1) until it is won, and no action wins by being repeated: "
        "not the empty one, no malformed one, and none of its own legal ones. The document matters if a constant of "
        "the class holds one of its numbers or nouns, and another value there changes rewards or the end of "
        "scripted episodes.\n\n"
    )
    return title + table(["share of answers", "target", "measured", "met"], rows) + "\n"


def _design(sets: Sequence[Mapping[str, Any]]) -> str:
    keys = ("valid", "distinct_and_new", "new_shape", "document_matters", "winnable", "solution_wins")
    rows = [
        [
            s["set"],
            "seen" if s["seen"] else "held out",
            f"{s['temperature']} / {s['top_p']}",
            str(s["answers"]),
            *(f"{s[key]:.0%}" for key in keys),
            f"{s['expert_win_rate']:.2f}",
            f"{s['random_win_rate']:.2f}",
        ]
        for s in sets
    ]
    head = [
        "prompts",
        "kind",
        "T / top-p",
        "answers",
        "valid",
        "distinct, new",
        "new shape",
        "document",
        "winnable",
        "own solution wins",
        "expert",
        "random",
    ]
    failures = [
        [s["set"], f"{s['temperature']} / {s['top_p']}", _counts(s["stages"]), _counts(s["families"])] for s in sets
    ]
    return (
        "## As designer\n\nA shape is a program without its words, names and numbers. Prompts without a seen kind get "
        "games of the trained families: the model invents no family of its own. Expert and random are mean win rates "
        "of scripted players, who choose among legal actions, on the valid programs.\n\n"
        + table(head, rows)
        + "\n\n"
        + table(["prompts", "T / top-p", "answers by stage", "valid programs by family"], failures)
        + "\n"
    )


def _play(sets: Sequence[Mapping[str, Any]]) -> str:
    keys = ("mixed", "learnable", "never_won", "always_won")
    rows = [
        [
            s["games"],
            f"{s['environments']} × {s['episodes'] // s['environments']}",
            f"{s['win_rate']:.2f}",
            f"{s['expert_win_rate']:.2f}",
            f"{s['random_win_rate']:.2f}",
            *(f"{s[key]:.0%}" for key in keys),
            f"{s['boxed']:.0%}",
            f"{s['turns_mean']:.1f}",
        ]
        for s in sets
    ]
    head = [
        "games",
        "plays",
        "model",
        "expert",
        "random",
        "mixed",
        "in [0.2, 0.8]",
        "never won",
        "always won",
        "boxed",
        "turns",
    ]
    families = [[s["games"], _counts(s["by_family"])] for s in sets]
    return (
        f"## As player\n\nWin rates at temperature {sets[0]['temperature']}, top-p {sets[0]['top_p']}. Mixed: "
        "environments with both won and lost episodes.\n\n"
        + table(head, rows)
        + "\n\n"
        + table(["games", "win rate by family"], families)
        + "\n"
    )


def _limits(report: Mapping[str, Any]) -> str:
    prompt = max(s["prompt_tokens_max"] for s in report["design"])
    answer = max(s["answer_tokens_max"] for s in report["design"][:5])
    context = max(s["context_tokens_max"] for s in report["play"])
    speed = report["design"][0]["tokens_per_second"]
    rows = [
        ["corpus document", "60 words", "documents of training have at most 30"],
        ["designer prompt", "600 tokens", f"longest here {prompt}"],
        ["designer answer", "450 tokens", f"longest here at temperature 0.6: {answer}"],
        ["hint", "40 tokens", "one sentence"],
        ["player's turn", "48 tokens", "a thought and a box"],
        ["player's context", "768 tokens", f"longest prompt here {context}"],
        ["turns", "12", "no generated game has more"],
        ["positions of the model", "2048", ""],
    ]
    return (
        "## Limits for runs\n\n"
        + table(["what", "limit", "note"], rows)
        + f"\n\nPrompts must use the compact templates. Sampling here: {speed:.0f} tokens/s on one thread with "
        "`transformers`, 64 answers at once.\n"
    )


def _counts(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in counts.items())


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
