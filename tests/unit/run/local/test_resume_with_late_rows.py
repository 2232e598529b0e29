"""A resumed query takes turns among its streams as if it had never stopped."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from sessions import session

from windrow import Session

pytestmark = pytest.mark.law

JOIN = "SELECT a.at AS a_at, b.at AS b_at FROM a, b WHERE a.k = b.k WINDOW = 100"


def batch(*times: int) -> pa.RecordBatch:
    return pa.record_batch({"k": [1] * len(times), "at": list(times)})


def streams_with_a_late_row() -> Session:
    # Read in the order a 5, b 10, a 10. Now both are at 10, and it is b's turn:
    #   b 20    the watermark of b is 15, that of a 10, so that of the query is 10
    #   a 7     late; had a been read before b, the watermark would have been 5
    made = session({"a": [batch(5), batch(10), batch(7, 30)]}, time="at", lateness=0)
    made.stream("b", [batch(10), batch(20)], time="at", lateness=5)
    return made


def test_a_resumed_query_finds_the_same_rows_late():
    made = streams_with_a_late_row()
    whole = made.sql(JOIN, on_late="keep")
    expected = whole.to_arrow().to_pylist()
    assert whole.late["a"].to_pylist() == [{"k": 1, "at": 7}]
    for stop in range(whole.progress.batch):
        first = made.sql(JOIN, on_late="keep")
        taken = []
        for _ in range(stop):
            taken += next(first, pa.record_batch({})).to_pylist()
        checkpoint = pickle.loads(pickle.dumps(first.checkpoint()))
        rest = made.sql(JOIN, on_late="keep", resume=checkpoint)
        assert taken + rest.to_arrow().to_pylist() == expected
        assert rest.progress.late == 1
        assert rest.progress.batch == whole.progress.batch
