"""A text's words have the tokens that the tokenizer gives the whole, or no words are told apart."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.trainer.byte_model import TAGS, write_byte_model
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from spade_trainer import words as words_module
from spade_trainer.chat import load_chat
from spade_trainer.words import Words, encoded, words_of
from spade_trainer.workers.model_source import resolve_model

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""How Qwen3's tokenizer finds words."""
TEXTS = [
    "the lamp goes out. Then, two of three doors",
    "it's I'll don't WE'RE",
    "a  b   c\n\n d \n",
    "x = f(a, b)[0]; 12.5",
]


def by_regex(**more: Any) -> Tokenizer:
    """A tokenizer of Qwen3's form, trained on a few words."""
    from tokenizers.trainers import BpeTrainer

    tokenizer = Tokenizer(models.BPE(**more))
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(_regex(QWEN), behavior="isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(TEXTS * 20, trainer)
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in TAGS])
    return tokenizer


def _regex(pattern: str) -> Any:
    from tokenizers import Regex

    return Regex(pattern)


def phrases() -> Tokenizer:
    """Such a tokenizer with added tokens of several words, which begin, end or stand across words."""
    tokenizer = by_regex()
    texts = ["of three doors", " of ", "goes out. Then", ", two", "e lamp", "doors, "]
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in texts])
    return tokenizer


def tiny(folder: Path) -> Tokenizer:
    shutil.copytree(resolve_model("package:tiny"), folder / "tiny", ignore=shutil.ignore_patterns("*.safetensors"))
    return load_chat(folder / "tiny").tokenizer


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Words]:
    folder = tmp_path_factory.mktemp("models")
    made = {
        "bytes": load_chat(write_byte_model(folder / "bytes")).tokenizer,
        "qwen": by_regex(),
        "phrases": phrases(),
        "tiny": tiny(folder),
    }
    found = {name: words_of(tokenizer) for name, tokenizer in made.items()}
    return {name: words for name, words in found.items() if words is not None}


PIECES = st.sampled_from(
    [
        *(" ".join(TEXTS)).split(),
        *TAGS,
        *" .,;:!?'abTZ0(é\n\t",
        "e\u0301",
        "\u0301",
        " of ",
        " Send ",
        "self.x",
        "说",
        "  ",
    ]
)


@pytest.mark.parametrize("name", ["bytes", "qwen", "phrases", "tiny"])
@settings(deadline=None, max_examples=150)
@given(pieces=st.lists(st.one_of(PIECES, st.just(" "), st.text(max_size=3)), max_size=40))
def test_words_have_the_tokens_of_the_whole(tokenizers: dict[str, Words], name: str, pieces: list[str]) -> None:
    text = "".join(pieces).encode("utf-8", "replace").decode()
    words = tokenizers[name]
    assert words.encode(text) == encoded(words.tokenizer, text)
    assert words.encode(text) == encoded(words.tokenizer, text), "remembered ones too"


def test_a_word_that_comes_again_is_not_encoded_again(tokenizers: dict[str, Words]) -> None:
    words = tokenizers["qwen"]
    words.encode("it is the lamp and the lamp that goes out")
    before = dict(words.known)
    words.encode("it that lamp is the goes out")
    assert words.known == before


def test_the_memory_of_words_is_bounded(tokenizers: dict[str, Words], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_module, "MAX_PARTS", 10)
    words = words_of(tokenizers["qwen"].tokenizer)
    assert words is not None
    words.encode(" ".join("ab" * n for n in range(1, 60)) + " x")
    assert len(words.known) <= 10
    assert len(words.joined) <= 10
    assert all(len(word) <= words_module.MAX_CHARACTERS for word in words.known)


def reaching_over_words() -> Tokenizer:
    """A vocabulary with a merge across two words, and nothing that parts them before."""
    alphabet = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab={**alphabet, "aĠ": len(alphabet)}, merges=[("a", "Ġ")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return tokenizer


def in_lower_case() -> Tokenizer:
    tokenizer = by_regex()
    tokenizer.normalizer = normalizers.Lowercase()
    return tokenizer


def with_random_merges() -> Tokenizer:
    tokenizer = by_regex()
    tokenizer.model.dropout = 0.5
    return tokenizer


def with_a_greedy_token() -> Tokenizer:
    tokenizer = by_regex()
    tokenizer.add_tokens([AddedToken("lamp", lstrip=True, normalized=False)])
    return tokenizer


@pytest.mark.parametrize("make", [reaching_over_words, in_lower_case, with_random_merges, with_a_greedy_token])
def test_a_tokenizer_that_may_not_part_texts_there_is_not_taken_apart(make: Any) -> None:
    assert words_of(make()) is None
