"""A table that is read again: what was read last serves while it cannot be read, and for no longer."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest
from outside import Shelf

from windrow.errors import DataError, ResourceError, WindrowError
from windrow.io import Unavailable
from windrow.run.local.tables import PATIENCE_S, RefreshedTable


class Rewritten(Shelf):
    """Holds other rows each time, or cannot be read."""

    def put(self, rows: pa.Table | WindrowError) -> None:
        self.error = rows if isinstance(rows, WindrowError) else None
        if self.error is None:
            super().__init__([rows])

    def columns(self) -> pa.Schema:
        if self.error is not None:
            raise self.error
        return super().columns()


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


AWAY = Unavailable("away", "it is away")
HALF = DataError("unreadable-data", "the file is half written")


@pytest.mark.parametrize(
    ("found", "condition"),
    [(AWAY, "away"), (HALF, "unreadable-data"), (pa.table({"w": ["x"]}), "table-changed")],
)
def test_rows_read_last_serve_until_patience_ends(found, condition):
    outside, clock = Rewritten([]), Clock()
    outside.put(pa.table({"v": [1]}))
    own = RefreshedTable("t", outside, 60.0, clock)
    outside.put(found)
    clock.now = 60.0
    assert own.look() == 1
    assert [batch.to_pydict() for batch in own.batches(None, 0)] == [{"v": [1]}]
    clock.now = 60.0 + PATIENCE_S
    with pytest.raises(WindrowError) as failed:
        own.look()
    assert failed.value.condition == condition
    outside.put(pa.table({"v": [2]}))
    assert own.look() == 2
    assert [batch.to_pydict() for batch in own.batches(None, 0)] == [{"v": [2]}]


def test_a_table_of_other_columns_says_what_they_were_and_are():
    outside, clock = Rewritten([]), Clock()
    outside.put(pa.table({"v": [1]}))
    own = RefreshedTable("t", outside, 60.0, clock)
    outside.put(pa.table({"v": ["x"]}))
    clock.now = 999.0
    with pytest.raises(ResourceError) as failed:
        own.look()
    assert str(failed.value) == (
        "ResourceError[table-changed]: the table t has other columns than when it was read first\n"
        "  they were `v` bigint, and are `v` string\n"
        "  hint: put the columns back, or register the table anew, and start the query again"
    )
