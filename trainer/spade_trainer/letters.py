"""The text of tokens, looked up token by token: what a byte-level tokenizer decodes, at a fraction of its time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

MOST_IDS = 2**22
"""A vocabulary with a higher id is not listed by id; each takes eight bytes."""


@dataclass(frozen=True)
class Letters:
    """The bytes of each token of a vocabulary, by id."""

    by_id: tuple[bytes, ...]
    """Empty for an id that there is not."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of tokens, control tokens included, as the tokenizer gives it: ids that there are not have none, and
        bytes that are no UTF-8 become U+FFFD.
        """
        if len(token_ids) < 2 or min(token_ids) < 0:
            return self._decode_some(token_ids)
        try:
            # One call for all takes two thirds of the time of a call for each, and a quarter of a dictionary's.
            found = b"".join(itemgetter(*token_ids)(self.by_id))
        except IndexError:
            return self._decode_some(token_ids)
        return found.decode("utf-8", "replace")

    def _decode_some(self, token_ids: Sequence[int]) -> str:
        """The same one by one, without ids that there are not."""
        found = b"".join(self.by_id[token_id] for token_id in token_ids if 0 <= token_id < len(self.by_id))
        return found.decode("utf-8", "replace")


def letters_of(tokenizer: Any) -> Letters | None:
    """The letters of a tokenizer (`tokenizers.Tokenizer`); None if they cannot be shown to give what it decodes."""
    from tokenizers.decoders import ByteLevel

    if not isinstance(tokenizer.decoder, ByteLevel):
        return None
    bytes_of = _byte_letters()
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    known = {token_id: _spelt(token, bytes_of) for token, token_id in vocabulary.items()}
    size = max(known, default=-1) + 1
    if size > MOST_IDS:
        return None
    letters = Letters(tuple(known.get(token_id, b"") for token_id in range(size)))
    everything = sorted(known)
    same = letters.decode(everything) == tokenizer.decode(everything, skip_special_tokens=False)
    return letters if same else None


def _spelt(token: str, bytes_of: Mapping[str, int]) -> bytes:
    """The bytes of a token; one with a letter that stands for no byte is spelt as it is."""
    try:
        return bytes(bytes_of[letter] for letter in token)
    except KeyError:
        return token.encode()


def _byte_letters() -> dict[str, int]:
    """The letter that stands for each byte in a byte-level vocabulary: its own if it is printed, or one from U+0100."""
    printed = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(0x100 + at): byte for at, byte in enumerate(others)}
