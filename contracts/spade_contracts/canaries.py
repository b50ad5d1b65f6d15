"""Figures of the gate's error on canaries, as manifests, summaries and statuses hold them: text → count.

`good` and `bad` say how many were judged, `false_accepts/STAGE` how many bad ones were accepted, by the stage that
should have rejected them, `false_rejects/STAGE` how many good ones were rejected, by the stage that did.
"""

from collections.abc import Iterator, Mapping

GOOD, BAD = "good", "bad"
FALSE_ACCEPTS, FALSE_REJECTS = "false_accepts", "false_rejects"
MAX_KEYS = 64
"""Bound of such a map in a status; there are twelve stages."""


def false_accepts(figures: Mapping[str, int]) -> int:
    """How many known bad programs were let through."""
    return sum(number for _, number in by_stage(figures, FALSE_ACCEPTS))


def by_stage(figures: Mapping[str, int], error: str) -> Iterator[tuple[str, int]]:
    """Stage and number of one of the two errors."""
    for key, number in figures.items():
        kind, _, stage = key.partition("/")
        if kind == error:
            yield stage, number
