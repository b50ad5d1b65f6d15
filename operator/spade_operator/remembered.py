"""What was made of something last, by key, for as long as that something is equal to what it was made of."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Given = TypeVar("Given")
Made = TypeVar("Made")


class Remembered(Generic[Key, Given, Made]):
    """One result for each key, of so many keys at most: those that were asked for last. It cannot be out of date as
    long as nobody changes what was given.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[Key, tuple[Given, Made]] = OrderedDict()

    def made(self, key: Key, given: Given, make: Callable[[], Made]) -> Made:
        """What `make` makes of what is given; it is called only if that differs from the last time."""
        known = self._known.pop(key, None)
        if known is None or known[0] != given:
            known = given, make()
        self._known[key] = known
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return known[1]

    def forget(self, key: Key) -> None:
        """It will not be asked for again."""
        self._known.pop(key, None)
