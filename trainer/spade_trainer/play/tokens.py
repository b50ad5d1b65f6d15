"""Token bookkeeping of one conversation: tokens in, tokens out, and nothing is ever tokenised twice (method.md §8.2).

The engine's own tokens are kept as they were drawn; the environment's words are appended by explicit rendering. What
was trained is therefore exactly what was computed, whatever the chat template would make of the whole afterwards:
`prefix_check` compares the two and its verdict is recorded with the episode.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from spade_contracts.engine_api import GenerateRequest, GenerateResponse
from spade_contracts.errors import SpadeError
from spade_trainer.store.episodes import Trajectory


class PrefixBroken(SpadeError):
    """An engine was asked with other tokens than those that stand before its answer: a bug of ours. Permanent."""


@dataclass
class Transcript:
    """The growing token sequence of one conversation. Changed by its functions only."""

    token_ids: list[int]
    prompt_tokens: int
    loss_mask: list[bool] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    last_drawn: tuple[int, int] = (0, 0)
    """Where the latest drawn tokens begin and end."""

    @property
    def tokens(self) -> int:
        """Length so far."""
        return len(self.token_ids)


def begin(prompt: Sequence[int]) -> Transcript:
    """A conversation whose first prompt is rendered, and nothing drawn yet."""
    count = len(prompt)
    return Transcript(list(prompt), count, [False] * count, [0.0] * count)


def add_drawn(transcript: Transcript, response: GenerateResponse, request: GenerateRequest | None = None) -> None:
    """Append what the engine drew.

    request: what it was asked with, which must be the tokens so far, so that what is trained is what the engine saw.
    Raises PrefixBroken if it is not.
    """
    start = transcript.tokens
    if request is not None and list(request.token_ids) != transcript.token_ids:
        raise PrefixBroken(f"an engine was asked with {len(request.token_ids)} tokens that are not the {start} kept")
    transcript.last_drawn = (start, start + len(response.token_ids))
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


def mask_last(transcript: Transcript) -> None:
    """Let the tokens that were drawn last go untrained (method.md §5.3). They stay where they are."""
    start, end = transcript.last_drawn
    transcript.loss_mask[start:end] = [False] * (end - start)
    transcript.log_probs[start:end] = [0.0] * (end - start)


def finish(transcript: Transcript) -> Trajectory:
    """The transcript as arrays, without observation tokens after the last drawn one."""
    import numpy as np

    end = transcript.last_drawn[1] or transcript.tokens
    return Trajectory(
        token_ids=np.array(transcript.token_ids[:end], dtype=np.int32),
        loss_mask=np.array(transcript.loss_mask[:end], dtype=np.bool_),
        log_probs=np.array(transcript.log_probs[:end], dtype=np.float32),
        prompt_tokens=transcript.prompt_tokens,
        spans=tuple(transcript.spans),
    )
