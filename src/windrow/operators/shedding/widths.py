"""What a tuple takes in memory, by its content: the same however rows are cut into chunks."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.physical.nodes.shedding_join import SheddingJoin


def row_bytes(spec: SheddingJoin, rows: pa.RecordBatch) -> int:
    """Bytes of the widest of some rows of an input, with its draws and its place in a structure."""
    return spec.least_row_bytes + sum(map(_width, rows.columns))


def _width(column: pa.Array) -> int:
    """Bytes of the widest value of a column, its mark for NULL included."""
    if pa.types.is_boolean(column.type):
        return 2
    if _is_text(column.type):
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        return int(longest) + 8 + 1
    try:
        return int(column.type.byte_width) + 1
    except ValueError:
        # Nested values: no width of their own is known cheaper than that of all of them.
        return -(-int(column.nbytes) // len(column)) if len(column) else 0


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )
