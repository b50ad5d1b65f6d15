"""Rows come back from Parquet as they went in; token columns as arrays, all others as plain values."""

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_trainer.store.columnar import ARRAYS, rows_of
from spade_trainer.store.episodes import columns, parquet_bytes, parquet_groups, parquet_rows

SCHEMA = pa.schema(
    [
        ("token_ids", pa.list_(pa.int32())),
        ("loss_mask", pa.list_(pa.bool_())),
        ("log_probs", pa.list_(pa.float32())),
        ("rewards", pa.list_(pa.float64())),
        ("seed", pa.int64()),
        ("text", pa.string()),
        ("turns", pa.list_(pa.struct([("name", pa.string()), ("spans", pa.list_(pa.int32()))]))),
    ]
)
TURN = st.fixed_dictionaries({"name": st.text(max_size=5), "spans": st.lists(st.integers(0, 9), max_size=3)})


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    ids = draw(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=20))
    probabilities = st.lists(st.floats(width=32, allow_nan=False), min_size=len(ids), max_size=len(ids))
    return {
        "token_ids": np.array(ids, dtype=np.int32),
        "loss_mask": np.array([i % 3 == 0 for i in ids], dtype=np.bool_),
        "log_probs": np.array(draw(probabilities), dtype=np.float32),
        "rewards": draw(st.lists(st.floats(allow_nan=False), max_size=4)),
        "seed": draw(st.none() | st.integers(0, 2**31)),
        "text": draw(st.text(max_size=20)),
        "turns": draw(st.lists(TURN, max_size=3)),
    }


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    arrays = all(
        one[name].dtype == other[name].dtype and one[name].tobytes() == other[name].tobytes() for name in ARRAYS
    )
    return arrays and all(one[name] == other[name] for name in one if name not in ARRAYS)


@settings(max_examples=50, deadline=None)
@given(st.lists(rows(), max_size=6), st.integers(0, 6))
def test_rows_come_back_as_they_went_in_whatever_their_groups(written: list[dict[str, Any]], cut: int) -> None:
    for content in (parquet_bytes(written, SCHEMA), parquet_groups([written[:cut], written[cut:]], SCHEMA)):
        read = parquet_rows(content)
        assert len(read) == len(written)
        assert all(same(one, other) for one, other in zip(written, read, strict=True))


@settings(max_examples=20, deadline=None)
@given(st.lists(rows(), max_size=6))
def test_a_file_that_was_written_value_by_value_reads_alike(written: list[dict[str, Any]]) -> None:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(written, schema=SCHEMA), out, compression="zstd")
    assert all(same(one, other) for one, other in zip(written, parquet_rows(out.getvalue()), strict=True))


def test_a_part_of_a_table_keeps_its_own_values() -> None:
    content = [{"token_ids": np.arange(i, dtype=np.int32)} for i in range(5)]
    table = pa.Table.from_pylist(content, schema=pa.schema([("token_ids", pa.list_(pa.int32()))]))
    assert [row["token_ids"].tolist() for row in rows_of(table.slice(2, 2))] == [[0, 1], [0, 1, 2]]


def test_equal_rows_give_equal_bytes() -> None:
    assert parquet_bytes([], columns()) == parquet_bytes([], columns())
    assert parquet_rows(parquet_bytes([], columns())) == []
