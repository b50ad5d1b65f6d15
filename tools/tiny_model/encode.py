"""Conversations as token ids with a loss weight for each token, in batches of similar length."""

from array import array
from dataclasses import dataclass
from random import Random
from typing import Any

from tools.tiny_model.conversations import Conversation
from tools.tiny_model.tokenizer import TURN_END


@dataclass(frozen=True)
class Row:
    """One conversation. weights[i] is the loss weight of predicting ids[i]; 0 means that it is only read."""

    kind: str
    ids: "array[int]"
    weights: "array[float]"


def encode(tokenizer: Any, conversation: Conversation) -> Row:
    """The conversation as the chat template renders it; the turn's end is weighed like its text, roles are free."""
    ids, weights = array("H"), array("f")

    def add(text: str, weight: float) -> None:
        piece = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        ids.extend(piece)
        weights.extend([weight] * len(piece))

    for message, weight in zip(conversation.messages, conversation.weights, strict=True):
        add(f"<|im_start|>{message['role']}\n", 0.0)
        add(message["content"] + TURN_END, weight)
        add("\n", 0.0)
    return Row(conversation.kind, ids, weights)


def batches(rows: list[Row], tokens: int, rng: Random) -> list[list[Row]]:
    """Rows in shuffled batches of at most that many tokens, padding included, each of rows of similar length."""
    order = sorted(rows, key=lambda row: len(row.ids) + rng.random() * 24)
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
