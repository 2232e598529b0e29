"""From rows as a source gives them to change batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.operators.change_kinds import signs_of
from windrow.operators.changes import ChangeBatch
from windrow.operators.instants import ticks_of

if TYPE_CHECKING:
    from windrow.physical.nodes.scan_stream import ScanStream


def scan(spec: ScanStream, rows: pa.RecordBatch) -> ChangeBatch:
    """The rows under the plan's flat names, with their event times in ticks.

    Args:
        spec: which columns to read, their new names, and the time column.
        rows: rows of the stream, in canonical Arrow types (see `arrow_types`).

    Returns:
        A change batch of rows that never expire; a NULL time is MIN_TICK.

    Raises:
        DataError: a change is of no known kind.

    Examples:
        >>> from windrow.physical.nodes.scan_stream import ScanStream
        >>> from windrow.schema import Field, Schema
        >>> columns = Schema((Field("x.k", "string"),))
        >>> spec = ScanStream("a", "x", ("k",), columns, "t", "bigint", 0)
        >>> scan(spec, pa.record_batch({"k": ["u"], "t": [7]})).times
        array([7])
    """
    columns = pa.RecordBatch.from_arrays(
        [rows.column(name) for name in spec.columns], names=list(spec.schema.names)
    )
    times = ticks_of(rows.column(spec.time))
    if spec.changes is None:
        return ChangeBatch(columns, times)
    return ChangeBatch(columns, times, None, signs_of(rows.column(spec.changes), spec.changes))
