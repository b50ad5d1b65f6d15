"""A fresh tiny model is within its bounds, and its heads pass on the token that they look at."""

import pytest
import torch
from tools.tiny_model.conversations import conversations
from tools.tiny_model.encode import CONTENT_WORDS
from tools.tiny_model.model import model_config, new_model, save
from tools.tiny_model.tokenizer import train_tokenizer
from tools.tiny_model.train import beginnings, rate_factor

from spade_trainer.chat import load_chat


@pytest.fixture(scope="module")
def tokenizer():
    texts = [message["content"] for row in conversations(3, 20, 5, 20) for message in row.messages]
    numbers = "\n".join(map(str, range(100)))
    return train_tokenizer([*texts, *[numbers] * 500], 1200, sorted(CONTENT_WORDS))


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(0)
    return new_model(model_config(tokenizer, 1792), tokenizer)


def test_it_has_fewer_than_four_million_parameters(model):
    assert sum(parameter.numel() for parameter in model.parameters()) < 4_000_000


def test_what_attention_passes_on_points_back_at_the_token(model):
    states = model.model.embed_tokens.weight[:500]
    for layer in model.model.layers:
        values = states @ layer.self_attn.v_proj.weight.T
        both = torch.cat([values[:, :32]] * 4 + [values[:, 32:]] * 4, 1) @ layer.self_attn.o_proj.weight.T
        scores = both @ model.lm_head.weight[:500].T
        assert (scores.argmax(1) == torch.arange(500)).float().mean() > 0.8


def test_saved_folder_is_read_by_the_product(model, tokenizer, tmp_path):
    save(model, tokenizer, model_config(tokenizer, 1792), tmp_path)
    chat = load_chat(tmp_path)
    assert chat.context_tokens == 2048
    assert chat.decode(chat.encode("The bell has 24 steps.")) == "The bell has 24 steps."
    assert all(file.stat().st_mode & 0o044 == 0o044 for file in tmp_path.iterdir())


def test_learning_rate_rises_stays_and_falls():
    factors = [rate_factor(progress / 100) for progress in range(101)]
    assert factors[0] < 0.1
    assert factors[10] == factors[30] == 1.0
    assert factors[40:] == sorted(factors[40:], reverse=True)
    assert 0 < factors[100] < 0.05


def test_beginnings_are_learned_prefixes_of_short_rows(tokenizer):
    from tools.tiny_model.encode import encode

    rows = [encode(tokenizer, row) for row in conversations(3, 20, 5, 20)]
    cut = beginnings(rows)
    assert cut
    for beginning in cut:
        assert any(row.ids[: len(beginning.ids)] == beginning.ids for row in rows)
        assert any(beginning.weights)
