"""Which samples go through the model together, and on which rank: a pure function of their lengths.

A microbatch is a rectangle of samples, padded on the right to its longest. Expert parallelism makes all ranks go
through the model in step, so every rank gets the same number of microbatches, and those of one round are of similar
size.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Microbatch:
    """One pass through the model."""

    samples: tuple[int, ...]
    """Indices into the batch; empty for a pass that only keeps a rank in step."""
    width: int
    """Tokens that each sample is padded to."""

    @property
    def padded_tokens(self) -> int:
        """Tokens that the pass costs."""
        return max(1, len(self.samples)) * self.width


def pack(
    lengths: Sequence[int], budget_tokens: int, ranks: int, multiple: int = 1
) -> tuple[tuple[Microbatch, ...], ...]:
    """Microbatches of each data-parallel rank, in order.

    lengths: tokens of each sample, at least 1. budget_tokens: padded tokens of a microbatch; a longer sample goes
    alone. multiple: widths are rounded up to it (sequence parallelism cuts them into that many parts). Every sample
    is in exactly one microbatch. Source: method.md §8.5, with padding in place of concatenation.
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    packed: list[Microbatch] = []
    for index in order:
        width = -(-lengths[index] // multiple) * multiple
        last = packed[-1] if packed else None
        if last is not None and (len(last.samples) + 1) * last.width <= budget_tokens:
            packed[-1] = Microbatch((*last.samples, index), last.width)
        else:
            packed.append(Microbatch((index,), width))
    while len(packed) % ranks:
        packed = _one_more(packed, lengths, multiple)
    packed.sort(key=lambda batch: (-batch.padded_tokens, batch.samples))
    return tuple(tuple(packed[rank::ranks]) for rank in range(ranks))


def _one_more(packed: list[Microbatch], lengths: Sequence[int], multiple: int) -> list[Microbatch]:
    """The same samples in one microbatch more: the largest that can be halved is, else an empty one is added."""
    divisible = [batch for batch in packed if len(batch.samples) > 1]
    if not divisible:
        return [*packed, Microbatch((), multiple)]
    largest = max(divisible, key=lambda batch: (batch.padded_tokens, batch.samples))
    middle = (len(largest.samples) + 1) // 2
    halves = [
        Microbatch(part, -(-max(lengths[index] for index in part) // multiple) * multiple)
        for part in (largest.samples[:middle], largest.samples[middle:])
    ]
    return [batch for batch in packed if batch is not largest] + halves
