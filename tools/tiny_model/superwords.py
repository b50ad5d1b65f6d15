"""Frequent runs of text that have only one likely continuation, to be single tokens of the vocabulary.

Programs and observations are mostly wording that never changes. As single tokens it costs a small model neither steps
nor attention, and what differs between games (names, numbers, rules) lies close together.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise

ROUNDS = 12
CERTAINTY = 0.9
"""Share of the occurrences of one piece that must be beside the other, for the two to be joined."""
MAX_CHARACTERS = 40
"""Phrases, not programs: a superword is part of one line. The break before it may belong to it if the line is indented:
what follows a role's line must not join with its break, or a turn would read otherwise than it was drawn."""


def find_superwords(texts: Iterable[str], split: Callable[[str], list[str]], least_count: int, most: int) -> list[str]:
    """At most that many runs of pieces, those first that save most tokens; each occurs at least least_count times.

    split: text → pieces which joined are the text. A run ends where a word cannot go on, so that it never matches
    in the middle of one."""
    rows = [split(text) for text in texts]
    whole = Counter(piece for row in rows for piece in row)
    size = dict.fromkeys(whole, 1)
    for _ in range(ROUNDS):
        joined = _joinable(rows, least_count)
        if not joined:
            break
        size |= {a + b: size[a] + size[b] for a, b in joined}
        rows = [_join(row, joined) for row in rows]
    counts = Counter(piece for row in rows for piece in row if size[piece] > 1)
    saved: Counter[str] = Counter()
    for piece, count in counts.items():
        pieces = _trimmed(split(piece))
        if count >= least_count and len(pieces) > 1:
            saved["".join(pieces)] += count * (len(pieces) - 1)
    return [piece for piece, _ in saved.most_common(most)]


def _joinable(rows: list[list[str]], least_count: int) -> set[tuple[str, str]]:
    pairs = Counter(pair for row in rows for pair in pairwise(row))
    single = Counter(piece for row in rows for piece in row)
    return {
        (a, b)
        for (a, b), count in pairs.items()
        if count >= least_count
        and count >= CERTAINTY * min(single[a], single[b])
        and len((a + b).strip()) <= MAX_CHARACTERS
        and "\n" not in a.lstrip("\n ") + b
        and not re.match(r"\n+(?! )", a + b)
    }


def _join(row: list[str], joined: set[tuple[str, str]]) -> list[str]:
    result: list[str] = []
    position = 0
    while position < len(row):
        pair = tuple(row[position : position + 2])
        if pair in joined:
            result.append("".join(pair))
            position += 2
        else:
            result.append(row[position])
            position += 1
    return result


def _trimmed(pieces: list[str]) -> list[str]:
    while pieces and pieces[-1][-1].isalnum():
        pieces = pieces[:-1]
    while pieces and pieces[0][0].isalnum():
        pieces = pieces[1:]
    return pieces
