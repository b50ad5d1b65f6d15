"""Whether the tokens of a conversation are those of a text: piece by piece between control tokens, each looked at once.

Tokens of what was given were encoded before. What the model drew is encoded by its words, and no more of it once one
piece is known to be split otherwise: then only texts are compared.
"""

from collections.abc import Iterator, Sequence

from spade_contracts.statuses import PrefixCheck
from spade_trainer.chat import Chat


def spelling(chat: Chat, rendered: str, used: Sequence[int]) -> PrefixCheck:
    """How the beginning of a rendered conversation compares with the tokens that were used: EXACT, REENCODED, DIVERGED.

    Linear in both. Where texts cannot be taken apart at control tokens, the whole is compared.
    """
    if chat.pieces is not None:
        return _by_pieces(chat, rendered, used)
    if chat.encode(rendered)[: len(used)] == list(used):
        return PrefixCheck.EXACT
    return PrefixCheck.REENCODED if _begins(chat, rendered, used) else PrefixCheck.DIVERGED


def _begins(chat: Chat, rendered: str, used: Sequence[int]) -> bool:
    return rendered.startswith(chat.text(used))


def _by_pieces(chat: Chat, rendered: str, used: Sequence[int]) -> PrefixCheck:
    """The same, where pieces can be compared: no further than to the first one with another text."""
    found, at = PrefixCheck.EXACT, 0
    for text, mark in _pieces(chat, rendered):
        try:
            end = used.index(mark[0], at) if mark else len(used)
        except ValueError:
            end = len(used)
        tokens, ended = list(used[at:end]), end == len(used)
        if found is PrefixCheck.REENCODED or chat.respelled(text)[: len(tokens) if ended else None] != tokens:
            found = PrefixCheck.REENCODED
            decoded = chat.text(tokens)
            if not (text.startswith(decoded) if ended else text == decoded):
                # Drawn letters that spell a control token may still make the same text of the whole.
                same = _begins(chat, rendered, used[: end + 1]) and _begins(chat, rendered, used)
                return PrefixCheck.REENCODED if same else PrefixCheck.DIVERGED
        if ended:
            return found
        at = end + 1
    return PrefixCheck.DIVERGED


def _pieces(chat: Chat, rendered: str) -> Iterator[tuple[str, list[int]]]:
    """Each text between control tokens, with the token that follows it; nothing follows the last."""
    start = 0
    for mark in chat.control.finditer(rendered):
        yield rendered[start : mark.start()], chat.respelled(mark.group())
        start = mark.end()
    yield rendered[start:], []
