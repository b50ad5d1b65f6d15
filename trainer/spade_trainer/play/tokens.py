"""Token bookkeeping of one conversation: tokens in, tokens out, and nothing is ever tokenised twice (method.md §8.2).

The engine's own tokens are kept as they were drawn; the environment's words are appended by explicit rendering. What
was trained is therefore exactly what was computed, whatever the chat template would make of the whole afterwards:
`prefix_check` compares the two and its verdict is recorded with the episode.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from pydantic import PrivateAttr
from pydantic_core import to_json

from spade_contracts.engine_api import GenerateRequest, GenerateResponse
from spade_contracts.errors import SpadeError
from spade_trainer.store.episodes import Trajectory


class SpeltRequest(GenerateRequest):
    """A request that brings its tokens as JSON too, which a long conversation does not spell anew at each turn."""

    _token_json: tuple[bytes, ...] = PrivateAttr(default=())

    @property
    def token_json(self) -> tuple[bytes, ...]:
        """`1,2,3` in parts; none: they are not spelt."""
        return self._token_json

    def spelt(self, transcript: "Transcript") -> Self:
        """This request, which was made of the tokens that the transcript has at present."""
        self._token_json = spelt(transcript)
        return self


class PrefixBroken(SpadeError):
    """An engine was asked with other tokens than those that stand before its answer: a bug of ours. Permanent."""


@dataclass
class Transcript:
    """The growing token sequence of one conversation. Changed by its functions only."""

    token_ids: list[int]
    prompt_tokens: int
    loss_mask: bytearray
    """1 on drawn tokens that are trained."""
    log_probs: "array[float]"
    """In single precision."""
    spans: list[tuple[int, int]] = field(default_factory=list)
    last_drawn: tuple[int, int] = (0, 0)
    """Where the latest drawn tokens begin and end."""
    shown: tuple[int, ...] = ()
    """What `seen` gave last."""
    spelt: list[bytes] = field(default_factory=list)
    """The first tokens as JSON spells them, in parts."""
    spelt_tokens: int = 0
    """How many these are."""

    @property
    def tokens(self) -> int:
        """Length so far."""
        return len(self.token_ids)


def begin(prompt: Sequence[int]) -> Transcript:
    """A conversation whose first prompt is rendered, and nothing drawn yet."""
    count = len(prompt)
    return Transcript(list(prompt), count, bytearray(count), array("f", bytes(4 * count)))


def seen(transcript: Transcript) -> tuple[int, ...]:
    """The tokens so far, for an engine to go on from."""
    transcript.shown = tuple(transcript.token_ids)
    return transcript.shown


def spelt(transcript: Transcript) -> tuple[bytes, ...]:
    """The same as JSON without brackets, in parts. Only what is new since the last call is spelt."""
    new = transcript.token_ids[transcript.spelt_tokens :]
    if new:
        transcript.spelt += [b","] * bool(transcript.spelt) + [to_json(new)[1:-1]]
        transcript.spelt_tokens += len(new)
    return tuple(transcript.spelt)


def add_drawn(transcript: Transcript, response: GenerateResponse, request: GenerateRequest | None = None) -> None:
    """Append what the engine drew.

    request: what it was asked with, which must be the tokens so far, so that what is trained is what the engine saw.
    Raises PrefixBroken if it is not.
    """
    start = transcript.tokens
    if request is not None and not _is_asked(transcript, request.token_ids):
        raise PrefixBroken(f"an engine was asked with {len(request.token_ids)} tokens that are not the {start} kept")
    transcript.last_drawn = (start, start + len(response.token_ids))
    transcript.token_ids += response.token_ids
    transcript.loss_mask += b"\x01" * len(response.token_ids)
    transcript.log_probs += array("f", response.log_probs)
    for span in response.spans:
        if transcript.spans and transcript.spans[-1][0] == span.policy_version:
            version, tokens = transcript.spans[-1]
            transcript.spans[-1] = (version, tokens + span.tokens)
        elif span.tokens:
            transcript.spans.append((span.policy_version, span.tokens))


def add_given(transcript: Transcript, token_ids: Sequence[int]) -> None:
    """Append tokens that were not drawn: an observation with its turn marks."""
    transcript.token_ids += token_ids
    transcript.loss_mask += bytes(len(token_ids))
    transcript.log_probs.frombytes(bytes(4 * len(token_ids)))


def mask_last(transcript: Transcript) -> None:
    """Let the tokens that were drawn last go untrained (method.md §5.3). They stay where they are."""
    start, end = transcript.last_drawn
    transcript.loss_mask[start:end] = bytes(end - start)
    transcript.log_probs[start:end] = array("f", bytes(4 * (end - start)))


def finish(transcript: Transcript) -> Trajectory:
    """The transcript as arrays, without observation tokens after the last drawn one."""
    import numpy as np

    end = transcript.last_drawn[1] or transcript.tokens
    return Trajectory(
        token_ids=np.array(transcript.token_ids[:end], dtype=np.int32),
        loss_mask=np.frombuffer(bytes(transcript.loss_mask[:end]), dtype=np.bool_),
        log_probs=np.frombuffer(transcript.log_probs[:end].tobytes(), dtype=np.float32),
        prompt_tokens=transcript.prompt_tokens,
        spans=tuple(transcript.spans),
    )


def _is_asked(transcript: Transcript, asked: Sequence[int]) -> bool:
    """Whether these are the tokens so far. The very tuple that was made of them need not be read again."""
    if asked is transcript.shown and len(asked) == transcript.tokens:
        return True
    return list(asked) == transcript.token_ids
