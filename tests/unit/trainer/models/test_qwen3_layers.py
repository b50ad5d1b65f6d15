"""What Qwen3's families share: no number is lost or moved between Hugging Face's tensors and the ranks' parameters."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from spade_trainer.models import qwen3_layers
from spade_trainer.models.qwen3_layers import Cut, Form, Shape


def small(groups: int = 2, heads: int = 4, width: int = 2) -> Shape:
    return Shape(
        num_hidden_layers=1,
        hidden_size=6,
        intermediate_size=8,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        head_dim=width,
        vocab_size=8,
        max_position_embeddings=16,
        rms_norm_eps=1e-6,
        rope_theta=1e6,
    )


def numbered(rows: int, columns: int, start: int = 0) -> NDArray[np.int64]:
    return np.arange(start, start + rows * columns).reshape(rows, columns)


def test_query_key_and_value_are_interleaved_by_group() -> None:
    query, key, value = numbered(8, 6), numbered(4, 6, 1000), numbered(4, 6, 2000)
    whole = qwen3_layers.join(Form.QKV, [query, key, value], small())
    expected = [query[:4], key[:2], value[:2], query[4:], key[2:], value[2:]]
    assert np.array_equal(whole, np.concatenate(expected))


@given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 3]), st.sampled_from([2, 4]))
def test_splitting_undoes_joining(groups: int, heads_per_group: int, width: int) -> None:
    shape = small(groups, groups * heads_per_group, width)
    rows = (groups * heads_per_group * width, groups * width, groups * width)
    parts = [numbered(count, 6, 1000 * index) for index, count in enumerate(rows)]
    again = qwen3_layers.split(Form.QKV, qwen3_layers.join(Form.QKV, parts, shape), shape)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))
    stacked = qwen3_layers.split(Form.STACKED, qwen3_layers.join(Form.STACKED, parts[1:], shape), shape)
    assert all(np.array_equal(a, b) for a, b in zip(parts[1:], stacked, strict=True))


@given(st.sampled_from(list(Cut)), st.sampled_from([1, 2, 4]))
def test_widening_undoes_narrowing(cut: Cut, size: int) -> None:
    whole = numbered(8, 12)
    pieces = [qwen3_layers.narrow(cut, whole, rank, size) for rank in range(size)]
    assert np.array_equal(qwen3_layers.widen(cut, pieces), whole)
    if cut is not Cut.WHOLE:
        assert sum(piece.size for piece in pieces) == whole.size


@given(st.sampled_from([1, 2, 4]), st.integers(1, 3), st.integers(1, 3))
def test_each_rank_holds_its_part_of_the_gate_above_its_part_of_up(size: int, rows: int, columns: int) -> None:
    gate, up = numbered(size * rows, columns), numbered(size * rows, columns, 1000)
    whole = qwen3_layers.join(Form.STACKED, [gate, up], small())
    for rank in range(size):
        mine = slice(rank * rows, (rank + 1) * rows)
        piece = qwen3_layers.narrow(Cut.HALVES, whole, rank, size)
        assert np.array_equal(piece, np.concatenate([gate[mine], up[mine]]))
