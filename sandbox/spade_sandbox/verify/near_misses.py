"""Actions that are nearly the winning one: a part as another seed has it, or the inner parts turned round. Pure.

A verifier that reads only some parts of an answer accepts these from every seed. One that honestly has several right
answers, or a tolerance, accepts some of them from some seeds, so a single one proves nothing.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spade_sandbox.verify.solutions import boxed, payload

LEAST_PARTS = 4
"""Parts of an answer whose inner ones can be turned round."""
ALTERNATIVES = 2
"""Other values that a part is tried with."""
MAX_PLACES = 3
_GAP = re.compile(r"([\s,;|>/-]+)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Answer:
    """An action in parts: words and numbers, or the letters of its only word that differs from seed to seed."""

    texts: tuple[str, ...]
    """All pieces, those between parts included."""
    places: tuple[int, ...]
    """Where in `texts` the parts stand that are not the same in every answer."""
    spelt: bool
    """Whether the parts are single characters."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What stands at the places."""
        return tuple(self.texts[place] for place in self.places)

    def having(self, parts: Iterable[str]) -> str:
        """The action with other parts."""
        new = dict(zip(self.places, parts, strict=True))
        return boxed("".join(new.get(number, text) for number, text in enumerate(self.texts)))


def answers(actions: Iterable[str]) -> tuple[Answer, ...]:
    """The same kind of action from several seeds, in parts; none if they are not alike."""
    split = [tuple(_GAP.split(payload(action))) for action in actions]
    if len(split) < 2 or len({len(texts) for texts in split}) > 1:
        return ()
    places = _differing(split)
    if len(places) > 1:
        return tuple(Answer(texts, places, spelt=False) for texts in split)
    spelt = [(*texts[:place], *texts[place], *texts[place + 1 :]) for texts in split for place in places]
    if not spelt or len({len(texts) for texts in spelt}) > 1:
        return ()
    (start,) = places
    size = len(split[0][start])
    return tuple(Answer(texts, tuple(range(start, start + size)), spelt=True) for texts in spelt) if size > 1 else ()


def replaced(own: Answer, others: Iterable[Answer], place: int) -> list[str]:
    """The action with one part as other seeds have it, and one beside it if they have too few; nothing without both.

    One other value is too little to say that a part is not read: of two it is the right one too often.
    """
    parts = own.parts
    values = list(dict.fromkeys(other.parts[place] for other in others if other.parts[place] != parts[place]))
    if len(values) == 1 and not own.spelt and re.fullmatch(r"\d{1,9}", parts[place]):
        values += [near for near in (str(int(parts[place]) + 1), str(int(parts[place]) - 1)) if near not in values][:1]
    if len(values) < ALTERNATIVES:
        return []
    return [own.having((*parts[:place], value, *parts[place + 1 :])) for value in values[:ALTERNATIVES]]


def turned(own: Answer) -> str:
    """The action with its inner parts in reverse; empty if that is the same or there are too few."""
    first, *inner, last = own.parts if len(own.parts) >= LEAST_PARTS else ("", "")
    return own.having((first, *inner[::-1], last)) if inner != inner[::-1] else ""


def exchanged(own: Answer) -> str:
    """The action with its first and last part exchanged; empty if that is the same."""
    first, *inner, last = own.parts
    return own.having((last, *inner, first)) if first != last else ""


def tried_places(own: Answer) -> Iterator[int]:
    """Some places of an answer. Later digits of a number may be within an honest tolerance."""
    size = len(own.parts)
    if own.spelt and _NUMBER.fullmatch("".join(own.parts)):
        yield 0
        return
    yield from tuple(dict.fromkeys((size // 2, 0, size - 1)))[:MAX_PLACES]


def _differing(split: list[tuple[str, ...]]) -> tuple[int, ...]:
    return tuple(place for place in range(0, len(split[0]), 2) if len({texts[place] for texts in split}) > 1)
