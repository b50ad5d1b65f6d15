"""Token bookkeeping of one conversation: tokens in, tokens out, and nothing is ever tokenised twice (method.md §8.2).

The engine's own tokens are kept as they were drawn; the environment's words are appended by explicit rendering. What
was trained is therefore exactly what was computed, whatever the chat template would make of the whole afterwards:
`prefix_check` compares the two and its verdict is recorded with the episode.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from spade_contracts.engine_api import GenerateResponse
from spade_trainer.chat import Chat
from spade_trainer.store.episodes import Trajectory


class PrefixCheck(StrEnum):
    """How the chat template's rendering of a whole conversation compares with the tokens that were used."""

    EXACT = "exact"
    """Same tokens."""
    REENCODED = "reencoded"
    """Same text; the tokenizer would split the model's own words differently than the model drew them."""
    DIVERGED = "diverged"
    """Another text: the template changes earlier turns (it strips thinking, for instance). The drawn tokens count."""
    NONE = "none"
    """Nothing was drawn."""


@dataclass
class Transcript:
    """The growing token sequence of one conversation. Changed by its functions only."""

    token_ids: list[int]
    prompt_tokens: int
    loss_mask: list[bool] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Length so far."""
        return len(self.token_ids)


def begin(prompt: Sequence[int]) -> Transcript:
    """A conversation whose first prompt is rendered, and nothing drawn yet."""
    count = len(prompt)
    return Transcript(list(prompt), count, [False] * count, [0.0] * count)


def add_drawn(transcript: Transcript, response: GenerateResponse) -> None:
    """Append what the engine drew."""
    transcript.token_ids += response.token_ids
    transcript.loss_mask += [True] * len(response.token_ids)
    transcript.log_probs += response.log_probs
    for span in response.spans:
        if transcript.spans and transcript.spans[-1][0] == span.policy_version:
            version, tokens = transcript.spans[-1]
            transcript.spans[-1] = (version, tokens + span.tokens)
        elif span.tokens:
            transcript.spans.append((span.policy_version, span.tokens))


def add_given(transcript: Transcript, token_ids: Sequence[int]) -> None:
    """Append tokens that were not drawn: an observation with its turn marks."""
    transcript.token_ids += token_ids
    transcript.loss_mask += [False] * len(token_ids)
    transcript.log_probs += [0.0] * len(token_ids)


def finish(transcript: Transcript) -> Trajectory:
    """The transcript as arrays, without observation tokens after the last drawn one."""
    import numpy as np

    end = max((i + 1 for i, drawn in enumerate(transcript.loss_mask) if drawn), default=transcript.tokens)
    return Trajectory(
        token_ids=np.array(transcript.token_ids[:end], dtype=np.int32),
        loss_mask=np.array(transcript.loss_mask[:end], dtype=np.bool_),
        log_probs=np.array(transcript.log_probs[:end], dtype=np.float32),
        prompt_tokens=transcript.prompt_tokens,
        spans=tuple(transcript.spans),
    )


def prefix_check(chat: Chat, messages: Sequence[Mapping[str, object]], trajectory: Trajectory) -> PrefixCheck:
    """Compare the tokens of a conversation with the chat template's rendering of its messages.

    messages: all turns, the last one the assistant's. The trajectory's tokens must be how that rendering begins.
    """
    if not trajectory.drawn_tokens:
        return PrefixCheck.NONE
    used = trajectory.token_ids.tolist()
    rendered = chat.render(messages)
    if chat.encode(rendered)[: len(used)] == used:
        return PrefixCheck.EXACT
    text = chat.tokenizer.decode(used, skip_special_tokens=False)
    return PrefixCheck.REENCODED if rendered.startswith(text) else PrefixCheck.DIVERGED
