from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.joins.alive_rows import take_back
from windrow.schema import MAX_TICK

Row = tuple[str | None, int, int]
"""Key, time, end."""


def batch(rows: list[Row]) -> ChangeBatch:
    keys, times, ends = (list(column) for column in zip(*rows, strict=True))
    columns = pa.RecordBatch.from_arrays([pa.array(keys, pa.string())], ["k"])
    return ChangeBatch(columns, np.array(times), np.array(ends))


def kept(pushes: list[list[Row]], gone: list[Row], until: int) -> tuple[int, list[Row]]:
    buffer = ChunkBuffer("end")
    for rows in pushes:
        buffer.append(batch(rows))
    dropped = take_back(buffer, batch(gone), until)
    left = [
        row
        for part in buffer.slices
        for row in zip(
            part.rows().columns.column(0).to_pylist(),
            part.rows().times.tolist(),
            part.rows().ends_or_never().tolist(),
            strict=True,
        )
    ]
    return dropped, left


def test_of_equal_rows_one_goes_for_each_that_is_taken_back() -> None:
    pushes: list[list[Row]] = [[("a", 1, MAX_TICK), ("b", 1, MAX_TICK)], [("a", 2, MAX_TICK)] * 2]
    dropped, left = kept(pushes, [("a", 3, MAX_TICK), ("a", 4, MAX_TICK)], 4)
    assert dropped == 2
    assert sorted(key for key, _, _ in left) == ["a", "b"]


def test_a_row_with_another_end_stays() -> None:
    assert kept([[("a", 1, 9), ("a", 1, 8)]], [("a", 3, 8)], 3) == (1, [("a", 1, 9)])


def test_null_is_taken_back_by_null() -> None:
    assert kept([[(None, 1, 9), ("a", 1, 9)]], [(None, 3, 9)], 3) == (1, [("a", 1, 9)])


def test_a_row_that_the_watermark_has_not_come_to_stays() -> None:
    """An equal row that comes later may come first in the buffer; it is not the one that went."""
    pushes: list[list[Row]] = [[("a", 9, MAX_TICK)], [("a", 1, MAX_TICK)]]
    assert kept(pushes, [("a", 5, MAX_TICK)], 6) == (1, [("a", 9, MAX_TICK)])


def test_what_never_came_is_not_dropped() -> None:
    assert kept([[("a", 1, 9)]], [("b", 3, 9)], 3) == (0, [("a", 1, 9)])
