"""The conversation of one episode: its messages, and the token sequences that engines see and the learner trains.

Whole: one sequence for the episode; what was drawn stays as drawn, and answers are appended. Per turn: one sequence a
turn, whose prompt is rendered anew from the messages, so that templates can strip earlier thinking (method.md §8.2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import Domain
from spade_contracts.config.sampling import Thinking
from spade_contracts.config.switches import HintedPlays, TurnDeltas
from spade_contracts.engine_api import GenerateRequest, GenerateResponse
from spade_contracts.statuses import PrefixCheck
from spade_trainer.chat import ASSISTANT, TOOL, TURN_END, Chat, Spelled
from spade_trainer.flaws import ended
from spade_trainer.play.spelling import spelling
from spade_trainer.play.tokens import Transcript, add_drawn, add_given, begin, finish, mask_last
from spade_trainer.store.episodes import Trajectory, TurnTokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

Message = Mapping[str, object]


@dataclass(frozen=True)
class Manner:
    """How one episode is held."""

    per_turn: bool
    """Whether each turn is a sequence of its own."""
    thinking: Thinking
    deltas: TurnDeltas
    bare: bool
    """The reference's hinted plays of games: no limit but the model's, no look at end tokens but to double them."""


def manner_of(method: MethodConfig, *, hinted: bool) -> Manner:
    """How an arm's episodes are held (method.md §1.5, §3, §8.2; D3, D9)."""
    games = method.environments.domain is Domain.GAMES
    bare = games and hinted and method.switches.hinted_plays is HintedPlays.BARE
    thinking = Thinking.OFF if bare else method.play.thinking
    return Manner(bare or (games and thinking is Thinking.ON), thinking, method.switches.turn_deltas, bare)


@dataclass
class Dialogue:
    """A conversation under way. Changed by the functions of this module only."""

    chat: Chat
    manner: Manner
    messages: list[Message]
    tools: tuple[Mapping[str, Any], ...]
    """Function schemas of the tools that the player may call."""
    now: Transcript
    """The sequence that the next turn is drawn for."""
    earlier: list[Trajectory] = field(default_factory=list)
    """Sequences of earlier turns, where each has its own."""


def open_dialogue(
    chat: Chat, manner: Manner, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
) -> Dialogue:
    """A conversation that begins with these messages."""
    chat = chat.remembering()
    shown = [_shown(chat, message) for message in messages]
    prompt = chat.prompt(shown, tools=tools, thinking=manner.thinking)
    return Dialogue(chat, manner, shown, tuple(tools), begin(prompt))


def add_reply(dialogue: Dialogue, request: GenerateRequest, drawn: GenerateResponse) -> str:
    """Take in the player's turn and return its text, without the end token.

    Raises PrefixBroken if the engine was asked with other tokens than those that are kept.
    """
    chat = dialogue.chat
    add_drawn(dialogue.now, drawn, request)
    reply = chat.decode(drawn.token_ids)
    doubled = dialogue.manner.bare and ended(chat, drawn)
    content = Spelled(chat.harmless(reply) + (TURN_END if doubled else ""))
    dialogue.messages.append({"role": ASSISTANT, "content": content})
    return reply


def add_answers(dialogue: Dialogue, answers: Sequence[Message]) -> None:
    """Take in what the turn was answered with: one user message, or one tool message for each call."""
    chat, manner = dialogue.chat, dialogue.manner
    answers = [_shown(chat, answer) for answer in answers]
    if manner.per_turn:
        dialogue.messages += answers
        dialogue.earlier.append(finish(dialogue.now))
        dialogue.now = begin(chat.prompt(dialogue.messages, tools=dialogue.tools, thinking=manner.thinking))
        return
    if manner.deltas is TurnDeltas.SLICED:
        for answer in answers:
            cut = chat.sliced(dialogue.messages, answer, tools=dialogue.tools, thinking=manner.thinking)
            add_given(dialogue.now, cut)
            dialogue.messages.append(answer)
        return
    texts = [str(answer["content"]) for answer in answers]
    called = bool(answers) and answers[0]["role"] == TOOL
    given = chat.next_tools(texts, manner.thinking) if called else chat.next_turn(texts[0], manner.thinking)
    add_given(dialogue.now, given)
    dialogue.messages += answers


def _shown(chat: Chat, message: Message) -> Message:
    """A message whose control tokens are broken once, and not at each rendering."""
    content = message["content"]
    return message if isinstance(content, Spelled) else {**message, "content": Spelled(chat.harmless(str(content)))}


def mask_turn(dialogue: Dialogue) -> None:
    """Let the latest turn go untrained."""
    mask_last(dialogue.now)


def sequences(dialogue: Dialogue) -> tuple[Trajectory, tuple[TurnTokens, ...]]:
    """All tokens of the conversation, and where each turn's sequence ends if they have their own."""
    if not dialogue.manner.per_turn:
        return finish(dialogue.now), ()
    last = finish(dialogue.now)
    parts = [*dialogue.earlier, last] if last.drawn_tokens else dialogue.earlier
    if not parts:
        return last, ()
    lengths = tuple(TurnTokens(len(part.token_ids), part.prompt_tokens) for part in parts)
    return _joined(parts), lengths


def _joined(parts: Sequence[Trajectory]) -> Trajectory:
    """Sequences one after the other."""
    import numpy as np

    def column(name: str) -> "NDArray[Any]":
        return np.concatenate([getattr(part, name) for part in parts])

    spans: list[tuple[int, int]] = []
    for version, tokens in (span for part in parts for span in part.spans):
        if spans and spans[-1][0] == version:
            spans[-1] = (version, spans[-1][1] + tokens)
        else:
            spans.append((version, tokens))
    return Trajectory(
        token_ids=column("token_ids"),
        loss_mask=column("loss_mask"),
        log_probs=column("log_probs"),
        prompt_tokens=parts[0].prompt_tokens,
        spans=tuple(spans),
    )


def prefix_check(dialogue: Dialogue, trajectory: Trajectory) -> PrefixCheck:
    """Compare the tokens of an ended conversation with the chat template's rendering of its messages."""
    if not trajectory.drawn_tokens:
        return PrefixCheck.NONE
    if dialogue.manner.per_turn:
        return PrefixCheck.PER_TURN
    last = max(i for i, message in enumerate(dialogue.messages) if message["role"] == ASSISTANT)
    messages, thinking = dialogue.messages[: last + 1], dialogue.manner.thinking
    rendered = dialogue.chat.render(messages, tools=dialogue.tools, thinking=thinking)
    return spelling(dialogue.chat, rendered, trajectory.token_ids.tolist())
