"""The model as player: many episodes side by side, in the form and within the limits of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tools.tiny_model.conversations import PLAY_TEMPLATE
from tools.tiny_model.runner import Program, ProgramFault
from tools.tiny_model.sampling import Sampler

from spade_contracts.config.switches import BoxedAction
from spade_trainer.design.prompt import ChatMessage
from spade_trainer.play.action import parse_action
from spade_trainer.play.prompt import first_message, with_hint

MAX_TURNS = 12
CONTEXT_TOKENS = 768
TURN_TOKENS = 48
SPARE_TOKENS = 64
"""An episode stops when no more than these are left of its context (method.md §1.5)."""


@dataclass
class Episode:
    """One play. hint: shown with the first observation if given."""

    program: Program
    game: int
    seed: int
    hint: str | None = None
    instance: int = -1
    messages: list[ChatMessage] = field(default_factory=list)
    live: bool = True
    won: bool = False
    turns: int = 0
    boxed: int = 0
    context_tokens: int = 0


def play_all(sampler: Sampler, episodes: Sequence[Episode], temperature: float, top_p: float) -> None:
    """Play every episode to its end, in place. A program that fails ends its episode without a win."""
    for episode in episodes:
        _start(episode)
    for _ in range(MAX_TURNS):
        live = [episode for episode in episodes if episode.live]
        for episode in live:
            episode.context_tokens = sampler.prompt_tokens(episode.messages)
            episode.live = episode.context_tokens + SPARE_TOKENS < CONTEXT_TOKENS
        live = [episode for episode in live if episode.live]
        if not live:
            return
        replies = sampler.complete([e.messages for e in live], temperature, top_p, TURN_TOKENS)
        for episode, reply in zip(live, replies, strict=True):
            _answer(episode, reply.text, reply.ended)


def _start(episode: Episode) -> None:
    try:
        episode.instance = episode.program.open()
        observation = episode.program.reset(episode.instance, episode.seed)
    except ProgramFault:
        episode.live = False
        return
    if episode.hint is not None:
        observation = with_hint(observation, episode.hint, PLAY_TEMPLATE)
    episode.messages.append({"role": "user", "content": first_message(observation, PLAY_TEMPLATE)})


def _answer(episode: Episode, reply: str, ended: bool) -> None:
    action = parse_action(reply, BoxedAction.LAST)
    episode.turns += 1
    episode.boxed += action.startswith("\\boxed{")
    if not ended:
        episode.live = False
        return
    try:
        observation, _, won, truncated = episode.program.step(episode.instance, action)
    except ProgramFault:
        episode.live = False
        return
    episode.won, episode.live = won, not (won or truncated)
    episode.messages.append({"role": "assistant", "content": reply})
    episode.messages.append({"role": "user", "content": observation})
