"""What the model is trained on is token for token what a run sends and reads."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.tiny_model.conversations import conversations
from tools.tiny_model.encode import CONTENT_WEIGHT, CONTENT_WORDS, JITTER_TOKENS, batches, content_tokens, encode
from tools.tiny_model.superwords import find_superwords
from tools.tiny_model.tokenizer import TURN_END, pieces, train_tokenizer

DATA = list(conversations(5, 40, 10, 40))


@pytest.fixture(scope="module")
def tokenizer():
    texts = [message["content"] for conversation in DATA for message in conversation.messages]
    return train_tokenizer(texts, 900, sorted(CONTENT_WORDS), find_superwords(texts, pieces, 10, 60))


def test_rows_are_the_chat_template_rendering(tokenizer):
    for conversation in DATA:
        expected = tokenizer.apply_chat_template(conversation.messages, tokenize=True, return_dict=False)
        assert encode(tokenizer, conversation).ids.tolist() == expected


def test_loss_lies_on_weighted_texts_and_their_ends_only(tokenizer):
    end = tokenizer.convert_tokens_to_ids(TURN_END)
    for conversation in DATA:
        row = encode(tokenizer, conversation)
        ends = [weight for token, weight in zip(row.ids, row.weights, strict=True) if token == end]
        assert ends == pytest.approx(conversation.weights)
        if conversation.kind == "design":
            learned = [token for token, weight in zip(row.ids, row.weights, strict=True) if weight]
            assert tokenizer.decode(learned) == conversation.messages[-1]["content"] + TURN_END


@pytest.mark.parametrize("text", ["bell", " bell", '"bell', "{bell}", "Ring the bell."])
def test_word_is_the_same_token_wherever_it_stands(tokenizer, text):
    assert "bell" in tokenizer.tokenize(text)
    assert "bell" not in tokenizer.tokenize("bellow")


def test_words_and_numbers_weigh_more(tokenizer):
    content = content_tokens(tokenizer)
    for conversation in DATA:
        plain, weighed = encode(tokenizer, conversation), encode(tokenizer, conversation, content)
        for token, light, heavy in zip(plain.ids, plain.weights, weighed.weights, strict=True):
            assert heavy == pytest.approx(light * (CONTENT_WEIGHT if token in content else 1))


def test_special_tokens_are_qwens_and_single(tokenizer):
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
    assert all(len(tokenizer.encode(name, add_special_tokens=False)) == 1 for name in names)
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.pad_token == "<|endoftext|>"


@given(text=st.text())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_survives_the_tokenizer(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_batches_keep_every_row_and_the_bound(tokenizer):
    rows = [encode(tokenizer, c) for c in DATA]
    made = batches(rows, 2000, Random(1))
    assert sorted(id(row) for batch in made for row in batch) == sorted(map(id, rows))
    for batch in made:
        assert len(batch) == 1 or len(batch) * max(len(row.ids) for row in batch) <= 2000 + JITTER_TOKENS * len(batch)
