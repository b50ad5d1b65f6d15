"""Which token sequences of an episode are trained, and which of their tokens (method.md §5.2, §8.2)."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from spade_contracts.config.play import PlayConfig, TruncatedEpisodes
from spade_contracts.statuses import Outcome
from spade_trainer.store.episodes import Episode, Trajectory


def trained_sequences(settings: PlayConfig, episode: Episode) -> tuple[tuple[str, Trajectory], ...]:
    """The sequences that the learner is given of an episode, in order: one for all of it, or one for each turn.

    Each with what follows the play's name in its own: nothing, or `/t03`.

    A truncated episode under the compact filter keeps its sequences, with no token left to train, because it still
    counts in its group and in the batch. All sequences of an episode share its advantage and one denominator, the sum
    of their trained tokens.
    """
    masked = settings.truncated is TruncatedEpisodes.MASKED and episode.outcome is Outcome.TRUNCATED
    parts = tuple(_turns(episode)) if episode.per_turn else (episode.trajectory,)
    names = [f"/t{turn:02d}" for turn in range(len(parts))] if episode.per_turn else [""]
    return tuple(zip(names, map(_untrained, parts) if masked else parts, strict=True))


def _turns(episode: Episode) -> Iterator[Trajectory]:
    """The sequence of each turn."""
    whole, start = episode.trajectory, 0
    spans = [(version, tokens) for version, tokens in reversed(whole.spans)]
    for turn in episode.per_turn:
        end = start + turn.tokens
        yield Trajectory(
            token_ids=whole.token_ids[start:end],
            loss_mask=whole.loss_mask[start:end],
            log_probs=whole.log_probs[start:end],
            prompt_tokens=turn.prompt_tokens,
            spans=_taken(spans, turn.tokens - turn.prompt_tokens),
        )
        start = end


def _taken(spans: list[tuple[int, int]], count: int) -> tuple[tuple[int, int], ...]:
    """The next `count` drawn tokens' versions; what is left stays in `spans`, which hold the next one last."""
    taken: list[tuple[int, int]] = []
    while count and spans:
        version, tokens = spans.pop()
        taken.append((version, min(tokens, count)))
        if tokens > count:
            spans.append((version, tokens - count))
        count -= taken[-1][1]
    return tuple(taken)


def _untrained(part: Trajectory) -> Trajectory:
    """The same tokens, none of which is trained."""
    return replace(part, loss_mask=np.zeros_like(part.loss_mask), log_probs=np.zeros_like(part.log_probs))
