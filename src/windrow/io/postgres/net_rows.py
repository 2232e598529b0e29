"""The rows of an epoch as they are staged: what it changes as a whole, each row with its copies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.operators.columns.key_directory import KeyDirectory
from windrow.plan.changelogs import SIGNS, unknown_change
from windrow.schema import CHANGE_TYPE


def net_rows(changes: pa.Table, columns: pa.Schema, keys: tuple[str, ...]) -> pa.RecordBatch:
    """How many copies of each different row come or go; rows that came and went are left out.

    Raises:
        DataError: a change is of no known kind.

    Examples:
        >>> kinds = ["update_preimage", "update_postimage", "delete"]
        >>> changes = pa.table({"k": [1, 1, 1], "v": [3, 4, 4], "_change_type": kinds})
        >>> net_rows(changes, changes.select(["k", "v"]).schema, ("k",)).to_pylist()
        [{'k': 1, 'v': 3, 'n': -1, 'has_null': False}]
    """
    kinds = changes.column(CHANGE_TYPE).combine_chunks()
    places = pc.index_in(kinds, pa.array(list(SIGNS)))
    if places.null_count:
        unknown = kinds.filter(places.is_null())[0].as_py()
        raise unknown_change(unknown, CHANGE_TYPE)
    signs = np.array(list(SIGNS.values()), np.int64)[places.to_numpy()]
    rows = _arrays(changes, columns)
    slots = KeyDirectory().slots_of(rows)
    net = np.zeros(int(slots.max()) + 1, np.int64)
    np.add.at(net, slots, signs)
    _, first = np.unique(slots, return_index=True)  # one row of each kind
    first = np.sort(first[net[slots[first]] != 0])
    kept = [array.take(pa.array(first)) for array in rows]
    has_null = np.zeros(len(first), np.bool_)
    for name in keys:
        has_null |= kept[columns.names.index(name)].is_null().to_numpy(zero_copy_only=False)
    return _staged(kept, columns, net[slots[first]], has_null)


def appended_rows(rows: pa.Table, columns: pa.Schema) -> pa.RecordBatch:
    """Rows that all come, as many copies as there are."""
    count = rows.num_rows
    return _staged(
        _arrays(rows, columns), columns, np.ones(count, np.int64), np.zeros(count, np.bool_)
    )


def _arrays(rows: pa.Table, columns: pa.Schema) -> list[pa.Array]:
    found = [rows.column(name).combine_chunks() for name in columns.names]
    return [
        pa.concat_arrays(own.chunks) if isinstance(own, pa.ChunkedArray) else own for own in found
    ]


def _staged(
    arrays: list[pa.Array], columns: pa.Schema, copies: np.ndarray, has_null: np.ndarray
) -> pa.RecordBatch:
    fields = [*columns, pa.field("n", pa.int64()), pa.field("has_null", pa.bool_())]
    return pa.RecordBatch.from_arrays(
        [*arrays, pa.array(copies), pa.array(has_null)], schema=pa.schema(fields)
    )
