"""From rows as a source gives them to change batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import DataError
from windrow.operators.changes import ChangeBatch
from windrow.operators.instants import ticks_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from windrow.physical.specs import ScanStream

SIGN_OF = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
"""What the kinds of changes do to their rows; the names are those of Spark's change data."""


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
        >>> from windrow.physical.specs import ScanStream
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
    return ChangeBatch(columns, times, None, _signs(rows.column(spec.changes), spec))


def _signs(kinds: pa.Array, spec: ScanStream) -> NDArray[np.int8]:
    """Whether each change makes a row come or go."""
    places = pc.index_in(kinds, pa.array(list(SIGN_OF)))
    if places.null_count:
        raise unknown_change(spec.stream, spec.changes or "")
    signs = np.array(list(SIGN_OF.values()), np.int8)
    found: NDArray[np.int8] = signs[places.to_numpy()]
    return found


def unknown_change(stream: str, column: str) -> DataError:
    """The error of a change that is of no known kind."""
    return DataError(
        "unknown-change",
        f"a row of {stream} has something else in {column} than the kind of a change",
        reason=f"a change is one of {', '.join(SIGN_OF)}",
        hint=f"write one of these into {column} before you register the stream",
    )
