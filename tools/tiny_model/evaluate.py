"""The report's measurements, as plain figures: how the model designs, and how it plays."""

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from random import Random
from statistics import mean
from typing import Any

from tools.tiny_model.conversations import HINT_TEMPLATE, Conversation, conversations, draw_game
from tools.tiny_model.families.base import Family
from tools.tiny_model.judge import Judgement, judge, normal, shape
from tools.tiny_model.player import Episode, play_all
from tools.tiny_model.prompts import PromptSet, Request, requests
from tools.tiny_model.runner import Program
from tools.tiny_model.sampling import Completion, Sampler

from spade_trainer.design.hint_prompt import hint_messages, parse_hint

ANSWER_TOKENS = 450
HINT_TOKENS, HINT_TEMPERATURE = 40, 0.3
EPISODES_PER_GAME = 8
Figures = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """What training has shown the model: documents, programs as texts, and the shapes of programs."""

    documents: frozenset[str]
    programs: frozenset[str]
    shapes: frozenset[str]


def known_from_training(training: dict[str, Any]) -> Known:
    """Rebuilt from the seed and sizes that the training wrote down."""
    sizes = training["conversations"]
    rows = conversations(training["seed"], sizes["design"], sizes["hint"], sizes["play"])
    designs = [row for row in rows if row.kind == "design"]
    programs = [row.messages[-1]["content"].removeprefix("```python\n").removesuffix("\n```") for row in designs]
    return Known(frozenset(map(_document, designs)), frozenset(map(normal, programs)), frozenset(map(shape, programs)))


def _document(row: Conversation) -> str:
    return row.messages[0]["content"].split("<document>\n")[1].split("\n</document>")[0]


@dataclass(frozen=True)
class Designed:
    """One prompt, the answer to it, and what was found out about the answer."""

    request: Request
    completion: Completion
    judgement: Judgement


def design(
    sampler: Sampler, prompts: PromptSet, count: int, known: Known, temperature: float, top_p: float, seed: int
) -> tuple[list[Designed], Figures]:
    """Sample and judge that many answers; the figures are shares of the answers unless they say otherwise."""
    asked = list(islice(requests(prompts, known.documents, seed), count))
    started = time.monotonic()
    answers = sampler.complete([r.messages for r in asked], temperature, top_p, ANSWER_TOKENS)
    seconds = time.monotonic() - started
    results = [Designed(r, a, judge(a.text, r.document)) for r, a in zip(asked, answers, strict=True)]
    valid = [r.judgement for r in results if r.judgement.valid]
    texts = {normal(j.program) for j in valid}
    lengths = sorted(sampler.prompt_tokens(r.messages) for r in asked)
    tokens = sorted(a.tokens for a in answers)
    return results, {
        "set": prompts.name,
        "seen": prompts.seen,
        "temperature": temperature,
        "top_p": top_p,
        "answers": count,
        "valid": len(valid) / count,
        "distinct_and_new": len(texts - known.programs) / count,
        "new_shape": sum(shape(j.program) not in known.shapes for j in valid) / count,
        "document_matters": sum(j.document_matters for j in valid) / count,
        "winnable": sum(j.winnable for j in valid) / count,
        "solution_wins": sum(j.solution_wins > 0 for j in valid) / count,
        "expert_win_rate": _mean(j.expert_wins for j in valid),
        "random_win_rate": _mean(j.random_wins for j in valid),
        "families": dict(Counter(j.family or "unknown" for j in valid)),
        "stages": dict(Counter(r.judgement.stage for r in results)),
        "prompt_tokens_max": lengths[-1],
        "answer_tokens_mean": mean(tokens),
        "answer_tokens_max": tokens[-1],
        "ended": sum(a.ended for a in answers) / count,
        "tokens_per_second": sum(tokens) / seconds,
    }


@dataclass(frozen=True)
class PlayedGame:
    """A program to be played. expert and random: win rates of scripted play, if known."""

    program: str
    family: str
    expert: float
    random: float


def written_games(families: Sequence[Family], count: int, seed: int) -> list[PlayedGame]:
    """Games by the generator, judged like the model's, families in turn."""
    games = []
    for number in range(count):
        game = draw_game(Random(f"evaluation/{seed}/{number}"), (families[number % len(families)],))
        found = judge(f"```python\n{game.program}\n```", game.document)
        games.append(PlayedGame(game.program, game.family.name, found.expert_wins, found.random_wins))
    return games


def hints_for(sampler: Sampler, games: Sequence[PlayedGame]) -> list[str | None]:
    """The model's own hint for each game, None where it wrote none."""
    asked = [hint_messages(HINT_TEMPLATE, game.program) for game in games]
    return [parse_hint(a.text) for a in sampler.complete(asked, HINT_TEMPERATURE, 1.0, HINT_TOKENS)]


def play(
    sampler: Sampler,
    label: str,
    games: Sequence[PlayedGame],
    temperature: float,
    top_p: float,
    hints: Sequence[str | None] | None = None,
) -> tuple[list[Episode], Figures]:
    """Play each game EPISODES_PER_GAME times, with hints if given. mixed: share of games with both wins and losses."""
    with ExitStack() as stack:
        programs = [stack.enter_context(Program(game.program)) for game in games]
        episodes = [
            Episode(program, number, 5000 + number * 100 + i, hints[number] if hints else None)
            for number, program in enumerate(programs)
            for i in range(EPISODES_PER_GAME)
        ]
        play_all(sampler, episodes, temperature, top_p)
    won: dict[int, list[bool]] = defaultdict(list)
    for episode in episodes:
        won[episode.game].append(episode.won)
    rates = [mean(won[number]) for number in range(len(games))]
    by_family: dict[str, list[float]] = defaultdict(list)
    for game, rate in zip(games, rates, strict=True):
        by_family[game.family].append(rate)
    turns = sum(e.turns for e in episodes)
    return episodes, {
        "games": label,
        "hinted": hints is not None,
        "temperature": temperature,
        "top_p": top_p,
        "environments": len(games),
        "episodes": len(episodes),
        "win_rate": mean(rates),
        "mixed": sum(0 < rate < 1 for rate in rates) / len(rates),
        "never_won": sum(rate == 0 for rate in rates) / len(rates),
        "always_won": sum(rate == 1 for rate in rates) / len(rates),
        "learnable": sum(0.2 <= rate <= 0.8 for rate in rates) / len(rates),
        "expert_win_rate": mean(game.expert for game in games),
        "random_win_rate": mean(game.random for game in games),
        "by_family": {name: round(mean(values), 2) for name, values in sorted(by_family.items())},
        "boxed": sum(e.boxed for e in episodes) / max(1, turns),
        "turns_mean": turns / len(episodes),
        "context_tokens_max": max(e.context_tokens for e in episodes),
    }


def _mean(values: Any) -> float:
    listed = list(values)
    return mean(listed) if listed else 0.0
