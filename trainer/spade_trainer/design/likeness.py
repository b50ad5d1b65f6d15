"""Which texts of a corpus repeat earlier ones: by their words, or by nearly all of their words.

Near duplicates are found by MinHash and banding, and then compared exactly. Everybody's permutations are the same, so
the result depends on the texts and their order alone.
"""

import hashlib
import re
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

SHINGLE_WORDS = 5
HASHES = 64
STRICT = 0.7
"""From this similarity on, bands of four values miss hardly any pair; below it, bands of two."""
MARGIN = 0.2
"""How far below the threshold an estimate may lie for the true similarity still to be computed."""
_WORD = re.compile(r"\w+")
_PRIME = np.uint64((1 << 31) - 1)


def words_of(text: str) -> list[str]:
    """The text's words without case."""
    return _WORD.findall(text.casefold())


def shingles(words: list[str]) -> NDArray[np.uint64]:
    """Hashes below 2^31 of the runs of five words, sorted, each once; of a shorter text, of all its words."""
    hashed = np.array([zlib.crc32(word.encode("utf-8", "replace")) for word in words], dtype=np.uint64)
    width = min(SHINGLE_WORDS, len(words))
    if not width:
        return np.empty(0, dtype=np.uint64)
    factors = np.array([pow(6364136223846793005, k + 1, 1 << 64) for k in range(width)], dtype=np.uint64)
    runs = np.lib.stride_tricks.sliding_window_view(hashed, width)
    mixed = (runs * factors).sum(axis=1, dtype=np.uint64)
    mixed ^= mixed >> np.uint64(29)
    return np.unique((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33))


def similarity(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    """Jaccard similarity of two sets of shingles, in [0, 1]."""
    shared = np.intersect1d(one, other, assume_unique=True).size
    union = one.size + other.size - shared
    return shared / union if union else 1.0


@cache
def _permutations() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    draw = np.random.default_rng(13)
    high = int(_PRIME)
    return draw.integers(1, high, HASHES, dtype=np.uint64), draw.integers(0, high, HASHES, dtype=np.uint64)


def signature(found: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """MinHash of a set of shingles, shape (HASHES,)."""
    factors, offsets = _permutations()
    smallest = np.full(HASHES, _PRIME, dtype=np.uint64)
    for start in range(0, found.size, 4096):
        part = (found[start : start + 4096, None] * factors + offsets) % _PRIME
        smallest = np.minimum(smallest, part.min(axis=0))
    return smallest.astype(np.uint32)


def digest(words: list[str]) -> bytes:
    """16 bytes that equal words alone give."""
    return hashlib.blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=16).digest()


@dataclass
class Earlier:
    """The texts kept so far. Changed by `like` only."""

    near: float
    """Similarity from which a text is a near duplicate."""
    read: Callable[[int], str]
    """A kept text by its place, for the exact comparison."""
    _signatures: list[NDArray[np.uint32]] = field(default_factory=list, init=False)
    _places: list[int] = field(default_factory=list, init=False)
    _bands: dict[tuple[int, bytes], list[int]] = field(default_factory=lambda: defaultdict(list), init=False)

    def like(self, text: str, place: int) -> bool:
        """Whether the text is nearly one that was kept; if not, it is kept."""
        found = shingles(words_of(text))
        own = signature(found)
        width = 4 if self.near >= STRICT else 2
        keys = [(start, own[start : start + width].tobytes()) for start in range(0, HASHES, width)]
        for other in dict.fromkeys(other for key in keys for other in self._bands.get(key, ())):
            estimate = float((self._signatures[other] == own).mean())
            if estimate < self.near - MARGIN:
                continue
            if similarity(found, shingles(words_of(self.read(self._places[other])))) >= self.near:
                return True
        for key in keys:
            self._bands[key].append(len(self._places))
        self._places.append(place)
        self._signatures.append(own)
        return False
