"""Tokens of a text word by word, so that a word that comes again is not encoded again.

Most of what a tokenizer does is to find the words of a text. Between a printed character and a space it always parts
the text, if no token of its vocabulary reaches over such a place. The tokens of the parts, one after the other, are
then those of the whole.
"""

import re
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

BREAK = re.compile(r"(?<=[!-~])(?=[ Ġ▁])")
"""Where a text is parted. Vocabularies spell a space as it is, or in one of these ways."""
ENDS = frozenset(map(chr, range(ord("!"), ord("~") + 1)))
MAX_PARTS = 2**16
MAX_CHARACTERS = 128
"""A longer part is hardly met again, and is not remembered."""


@dataclass
class Words:
    """The parts of texts met so far. Changed by `encode` only."""

    tokenizer: Any
    """`tokenizers.Tokenizer`."""
    open_words: frozenset[str] = frozenset()
    """Words behind which a text is not parted, because an added token may go on there."""
    open_ends: tuple[str, ...] = ()
    """The same, as ends of words."""
    known: dict[str, list[int]] = field(default_factory=dict, repr=False)
    """Token ids of a word with a space before it; empty: the text is not parted behind it."""
    joined: dict[str, list[int]] = field(default_factory=dict, repr=False)
    """Token ids of all other parts."""

    def encode(self, text: str) -> list[int]:
        """Token ids of a text without control tokens, as the tokenizer gives them."""
        first, *words = text.split(" ")
        if not self._is_end(first):
            return self._after([], [first], words)
        return self._after(list(self._part(first)), [], words)

    def _after(self, tokens: list[int], waiting: list[str], words: list[str]) -> list[int]:
        """tokens, followed by those of the words; waiting: words that are not parted from the next one."""
        all_known = list(map(self.known.get, words))  # the common case, without a turn of Python for each word
        if all(all_known) and not waiting:
            tokens.extend(chain.from_iterable(cast("list[list[int]]", all_known)))
            return tokens
        for word in words:
            found = self.known.get(word)
            if found is None:
                found = self._learnt(word)
            if found and not waiting:
                tokens += found
                continue
            waiting += [word] if waiting else ["", word]
            if found:
                tokens += self._part(" ".join(waiting))
                waiting = []
        return tokens + self._part(" ".join(waiting)) if waiting else tokens

    def _is_end(self, word: str) -> bool:
        return word[-1:] in ENDS and word not in self.open_words and not word.endswith(self.open_ends)

    def _learnt(self, word: str) -> list[int]:
        return _kept(self.known, word, encoded(self.tokenizer, f" {word}") if self._is_end(word) else [])

    def _part(self, text: str) -> list[int]:
        found = self.joined.get(text)
        return _kept(self.joined, text, encoded(self.tokenizer, text)) if found is None else found


def words_of(tokenizer: Any) -> Words | None:
    """The words of a tokenizer (`tokenizers.Tokenizer`); None if it cannot be shown to part texts at BREAK."""
    from tokenizers.models import BPE
    from tokenizers.normalizers import NFC

    plain = tokenizer.normalizer is None or isinstance(tokenizer.normalizer, NFC)
    if not plain or not isinstance(tokenizer.model, BPE) or tokenizer.model.dropout:
        return None
    if any(map(BREAK.search, tokenizer.get_vocab(with_added_tokens=False))):
        return None
    added = tokenizer.get_added_tokens_decoder().values()
    if any(token.lstrip or token.rstrip or (token.single_word and token.content.startswith(" ")) for token in added):
        return None
    begun = [token.content[: place.start()].split(" ") for token in added for place in BREAK.finditer(token.content)]
    words = Words(
        tokenizer,
        open_words=frozenset(last for *before, last in begun if before),
        open_ends=tuple({last for *before, last in begun if not before}),
    )
    probe = "\n".join(f"It's 3{end} {start} so." for end in sorted(ENDS) for start in ("b", "Z", "I'll", "7", "(", "-"))
    return words if words.encode(probe) == encoded(tokenizer, probe) else None


def encoded(tokenizer: Any, text: str) -> list[int]:
    """Token ids of a text as the tokenizer itself parts it."""
    # The batch call leaves out character offsets, which cost a third of the time.
    return list(tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids)


def _kept(memory: dict[str, list[int]], text: str, tokens: list[int]) -> list[int]:
    """tokens, which are remembered for this text."""
    if len(text) <= MAX_CHARACTERS:
        if len(memory) >= MAX_PARTS:
            memory.clear()
        memory[text] = tokens
    return tokens
