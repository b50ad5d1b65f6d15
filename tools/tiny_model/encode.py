"""Conversations as token ids with a loss weight for each token, in batches of similar length."""

from array import array
from dataclasses import dataclass
from random import Random
from typing import Any

from tools.tiny_model.conversations import Conversation
from tools.tiny_model.documents import ADJECTIVES, NOUNS
from tools.tiny_model.tokenizer import TURN_END

JITTER_TOKENS = 24
CONTENT_WEIGHT = 3.0
"""How much more a word or number counts than wording: it must be copied or worked out, and there are few of them."""
CONTENT_WORDS = frozenset(NOUNS + ADJECTIVES)


@dataclass(frozen=True)
class Row:
    """One conversation. weights[i] is the loss weight of predicting ids[i]; 0 means that it is only read."""

    kind: str
    ids: "array[int]"
    weights: "array[float]"


def content_tokens(tokenizer: Any) -> frozenset[int]:
    """Ids of the tokens that are a number, or a word of the documents in any form."""
    plain = {token: tokenizer.decode([token]).strip().lower() for token in range(len(tokenizer))}
    return frozenset(token for token, text in plain.items() if text.isdecimal() or text in CONTENT_WORDS)


def encode(tokenizer: Any, conversation: Conversation, content: frozenset[int] = frozenset()) -> Row:
    """The conversation as the chat template renders it; the turn's end is weighed like its text, roles are free.

    content: ids of tokens that weigh CONTENT_WEIGHT times as much."""
    ids, weights = array("H"), array("f")

    def add(text: str, weight: float) -> None:
        piece = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        ids.extend(piece)
        weights.extend(weight * (CONTENT_WEIGHT if token in content else 1.0) for token in piece)

    for message, weight in zip(conversation.messages, conversation.weights, strict=True):
        add(f"<|im_start|>{message['role']}\n", 0.0)
        add(message["content"] + TURN_END, weight)
        add("\n", 0.0)
    return Row(conversation.kind, ids, weights)


def batches(rows: list[Row], tokens: int, rng: Random) -> list[list[Row]]:
    """Rows in shuffled batches of that many tokens, each of rows of similar length.

    Padding included, a batch may have JITTER_TOKENS a row more: lengths are sorted with that much noise, so that passes
    over the same rows differ."""
    order = sorted(rows, key=lambda row: len(row.ids) + rng.random() * JITTER_TOKENS)
    result: list[list[Row]] = []
    current: list[Row] = []
    for row in order:
        if current and len(row.ids) * (len(current) + 1) > tokens:
            result.append(current)
            current = []
        current.append(row)
    if current:
        result.append(current)
    rng.shuffle(result)
    return result
