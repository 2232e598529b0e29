from __future__ import annotations

import pyarrow as pa

from windrow.operators.engine.row_drivers import scan
from windrow.physical.nodes.scans import ScanStream
from windrow.schema import MIN_TICK, Field, Schema

ROWS = pa.record_batch({"k": ["u", "v"], "n": [1, 2], "at": pa.array([7, None], pa.int64())})


def test_a_scan_picks_columns_and_gives_them_flat_names():
    schema = Schema((Field("x.n", "bigint"), Field("x.k", "string")))
    node = ScanStream("a", "x", ("n", "k"), schema, "at", "bigint", 0)
    batch = scan(node, ROWS)
    assert batch.columns.to_pydict() == {"x.n": [1, 2], "x.k": ["u", "v"]}
    assert batch.times.tolist() == [7, MIN_TICK]
    assert batch.ends is None
    assert batch.signs is None


def test_a_scan_of_no_columns_still_has_rows():
    node = ScanStream("a", "x", (), Schema(()), "at", "bigint", 0)
    assert len(scan(node, ROWS)) == 2
