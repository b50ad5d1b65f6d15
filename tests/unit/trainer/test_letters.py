"""Tokens are spelt from a table exactly as the tokenizer decodes them, or not from a table at all."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.trainer.byte_model import REAL_TOKENIZER, write_byte_model
from tokenizers import Tokenizer, decoders

from spade_trainer.chat import load_chat
from spade_trainer.letters import Letters, letters_of
from spade_trainer.workers.model_source import resolve_model


def tokenizers(folder: Path) -> list[Tokenizer]:
    """Ours, one that has a token for each byte, and Qwen3's own."""
    folders = [resolve_model("package:tiny"), write_byte_model(folder)]
    return [*(load_chat(each).tokenizer for each in folders), Tokenizer.from_file(str(REAL_TOKENIZER))]


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Tokenizer, Letters]]:
    found = [(tokenizer, letters_of(tokenizer)) for tokenizer in tokenizers(tmp_path_factory.mktemp("model"))]
    assert all(letters is not None for _, letters in found)
    return [(tokenizer, letters) for tokenizer, letters in found if letters is not None]


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_any_tokens_have_the_text_that_the_tokenizer_gives(
    some: list[tuple[Tokenizer, Letters]], data: st.DataObject
) -> None:
    for tokenizer, letters in some:
        single = sorted(token_id for token_id, spelt in enumerate(letters.by_id) if len(spelt) == 1)
        there = st.sampled_from(sorted(tokenizer.get_vocab(with_added_tokens=True).values()))
        some_ids = st.lists(there | st.sampled_from(single), max_size=12)
        beyond = st.lists(st.integers(0, 2 * tokenizer.get_vocab_size()) | st.sampled_from(single), max_size=12)
        ids = data.draw(some_ids | beyond)
        assert letters.decode(ids) == tokenizer.decode(ids, skip_special_tokens=False)


@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_ids_that_no_vocabulary_has_are_left_out(some: list[tuple[Tokenizer, Letters]], data: st.DataObject) -> None:
    for _, letters in some:
        good = data.draw(st.lists(st.integers(0, len(letters.by_id) - 1), max_size=6))
        bad = data.draw(st.lists(st.integers(max_value=-1) | st.integers(min_value=len(letters.by_id)), max_size=6))
        mixed = data.draw(st.permutations([*good, *bad]))
        assert letters.decode(mixed) == letters.decode([i for i in mixed if 0 <= i < len(letters.by_id)])


def test_a_vocabulary_with_large_gaps_has_no_letters(some: list[tuple[Tokenizer, Letters]]) -> None:
    described = json.loads(some[0][0].to_str())
    last = max(described["model"]["vocab"], key=described["model"]["vocab"].__getitem__)
    described["model"]["vocab"][last] = 2**31
    assert letters_of(Tokenizer.from_str(json.dumps(described))) is None


def test_a_decoder_of_another_kind_has_no_letters(some: list[tuple[Tokenizer, Letters]]) -> None:
    for decoder in (decoders.Metaspace(), decoders.Sequence([decoders.ByteLevel(), decoders.Strip("a", 1, 0)]), None):
        other = Tokenizer.from_str(some[0][0].to_str())
        other.decoder = decoder
        assert letters_of(other) is None
