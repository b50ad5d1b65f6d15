"""Rows as Parquet and back. Columns that hold a value for each token go as arrays, never value by value.

A rollout has some ten million tokens, so they set the pace: no dictionary (token ids are many and log-probabilities
all differ), the bytes of equal weight beside each other, and a quick codec for both, which hardly shrink. Files say how
they were written, so that those of other settings are read all the same.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

ARRAYS = ("token_ids", "loss_mask", "log_probs")
"""List columns whose rows are written from numpy arrays and read as such, which must not be written to."""
SPLIT = frozenset({"token_ids", "log_probs"})
"""Of these, columns whose bytes are stored plane by plane."""
QUICK = frozenset({"token_ids", "log_probs"})
"""Of these, columns that are compressed for speed."""


def table_of(rows: Iterable[dict[str, Any]], schema: "pa.Schema") -> "pa.Table":
    """Rows as a table of this schema; each has all its columns."""
    import pyarrow as pa

    listed = list(rows)
    columns = [
        _array_column([row[field.name] for row in listed], field)
        if field.name in ARRAYS
        else pa.array([row[field.name] for row in listed], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def rows_of(table: "pa.Table") -> list[dict[str, Any]]:
    """The rows of a table: arrays in the columns of ARRAYS, plain values in all others."""
    columns = {
        name: list(_arrays(table[name])) if name in ARRAYS else table[name].to_pylist() for name in table.column_names
    }
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def parquet_options(schema: "pa.Schema") -> dict[str, Any]:
    """How pyarrow is to write a file of this schema."""
    leaves = {path: field.name for field in schema for path in _leaves(field.name, field.type)}
    others = [path for path, name in leaves.items() if name not in ARRAYS]
    return {
        "compression": {path: "snappy" if name in QUICK else "zstd" for path, name in leaves.items()},
        "use_dictionary": others,
        "write_statistics": others,
        "column_encoding": {path: "BYTE_STREAM_SPLIT" for path, name in leaves.items() if name in SPLIT} or None,
    }


def _leaves(path: str, kind: "pa.DataType") -> Iterator[str]:
    """Paths of the columns that Parquet stores for a field."""
    import pyarrow as pa

    if pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    else:
        yield path


def _array_column(arrays: "Sequence[NDArray[Any]]", field: "pa.Field") -> "pa.Array":
    """One column of a list type out of an array for each row."""
    import numpy as np
    import pyarrow as pa

    kind = field.type.value_type.to_pandas_dtype()
    bounds = np.zeros(len(arrays) + 1, dtype=np.int32)
    np.cumsum([len(array) for array in arrays], out=bounds[1:])
    values = np.concatenate([np.asarray(array, dtype=kind) for array in arrays]) if arrays else np.empty(0, kind)
    return pa.ListArray.from_arrays(pa.array(bounds), pa.array(values, field.type.value_type), type=field.type)


def _arrays(column: "pa.ChunkedArray") -> "Iterator[NDArray[np.generic]]":
    """The array of each row of one column."""
    for chunk in column.chunks:
        bounds = chunk.offsets.to_numpy()
        values = chunk.values.to_numpy(zero_copy_only=False)
        for start, end in itertools.pairwise(bounds):
            yield values[start:end]
