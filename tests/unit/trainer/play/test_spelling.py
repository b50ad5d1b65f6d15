"""A conversation is compared piece by piece, and the verdict is that of a comparison of the whole."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.trainer.byte_model import SPECIAL, TAGS, write_byte_model

from spade_contracts.statuses import PrefixCheck
from spade_trainer.chat import Chat, load_chat
from spade_trainer.play.spelling import spelling
from spade_trainer.words import Words, encoded

TEXTS = st.lists(st.sampled_from([*SPECIAL, *TAGS, "the ", "in", "x, y", " ", "\n", "é", "thin"]), max_size=12).map(
    "".join
)


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    return load_chat(write_byte_model(tmp_path_factory.mktemp("model")))


def of_the_whole(chat: Chat, rendered: str, used: list[int]) -> PrefixCheck:
    """What the words mean."""
    if encoded(chat.tokenizer, rendered)[: len(used)] == used:
        return PrefixCheck.EXACT
    text = chat.tokenizer.decode(used, skip_special_tokens=False)
    return PrefixCheck.REENCODED if rendered.startswith(text) else PrefixCheck.DIVERGED


def split_letters(chat: Chat, tokens: list[int], where: set[int]) -> list[int]:
    """The same text, some tokens of several letters spelt letter by letter."""
    vocabulary = chat.tokenizer.get_vocab()
    plain = {number: text for text, number in vocabulary.items() if text not in (*SPECIAL, *TAGS)}
    return [
        part
        for position, token in enumerate(tokens)
        for part in ([vocabulary[c] for c in plain[token]] if position in where and token in plain else [token])
    ]


@settings(deadline=None, max_examples=300)
@given(
    rendered=TEXTS,
    other=TEXTS,
    length=st.integers(0, 80),
    split=st.sets(st.integers(0, 80)),
    same=st.booleans(),
    remembering=st.booleans(),
)
def test_the_verdict_is_that_of_the_whole(
    chat: Chat, rendered: str, other: str, length: int, split: set[int], *, same: bool, remembering: bool
) -> None:
    used = split_letters(chat, encoded(chat.tokenizer, rendered if same else other), split)[:length]
    asked = chat.remembering() if remembering else chat
    assert spelling(asked, rendered, used) is of_the_whole(chat, rendered, used)


@pytest.mark.parametrize("change", [lambda c: c.remembering(), lambda c: replace(c.remembering(), words=None)])
def test_each_verdict_is_met(chat: Chat, change: Callable[[Chat], Chat]) -> None:
    rendered = "<|im_start|>user\nin the bin<|im_end|>\n<|im_start|>assistant\nthe thin bin<|im_end|>\n"
    used = encoded(chat.tokenizer, rendered)
    asked = change(chat)
    assert spelling(asked, rendered, used) is PrefixCheck.EXACT
    split = split_letters(chat, used, {used.index(chat.tokenizer.token_to_id("the"))})
    assert spelling(asked, rendered, split) is PrefixCheck.REENCODED
    assert spelling(asked, rendered, encoded(chat.tokenizer, rendered.replace("thin", "thick"))) is PrefixCheck.DIVERGED


def test_a_drawn_text_is_looked_at_once_however_many_turns_follow(chat: Chat) -> None:
    seen: list[str] = []

    class Counted(Words):
        def encode(self, text: str) -> list[int]:
            seen.append(text)
            return super().encode(text)

    turns = [f"<|im_start|>user\nstep {n}<|im_end|>\n<|im_start|>assistant\nreply {n}<|im_end|>\n" for n in range(20)]
    asked = replace(chat.remembering(), words=Counted(chat.tokenizer))
    rendered = "".join(turns)
    assert spelling(asked, rendered, encoded(chat.tokenizer, rendered)) is PrefixCheck.EXACT
    drawn = [text for text in seen if text.startswith("assistant\n")]
    assert drawn == [f"assistant\nreply {n}" for n in range(20)]
