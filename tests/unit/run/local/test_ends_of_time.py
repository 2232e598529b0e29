"""The two ends of BIGINT time stand for "no time" and "never": no tuple is lost there unseen."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow import Session

FIRST, LAST = -(2**63), 2**63 - 1
QUERIES = [
    "SELECT COUNT(*) AS n FROM m [RANGE 1]",
    "SELECT m.at AS x, n.at AS y FROM m, n WHERE m.k = n.k WINDOW = 5",
    "SELECT m.at AS x, n.at AS y FROM m LEFT OUTER BESTMATCH JOIN n ON m.at MINDIST n.at"
    " WHERE abs(m.at - n.at) <= 5 KEEP UNMATCHED",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("end", [FIRST, LAST])
def test_a_tuple_at_an_end_of_time_counts_as_one_without_a_time(query, end):
    made = Session()
    made.stream("m", [pa.record_batch({"k": [1, 1], "at": [5, end]})], time="at")
    made.stream("n", [pa.record_batch({"k": [1, 1], "at": [5, 6]})], time="at")
    result = made.sql(query, on_late="keep")
    rows = result.to_arrow().to_pylist()
    assert rows
    assert all(row.get("x", 5) == 5 for row in rows)
    assert result.late["m"].to_pylist() == [{"k": 1, "at": end}]
    assert (result.progress.late, result.progress.null_time) == (0, 1)
    assert result.progress.stored == 0


def test_the_ticks_beside_the_ends_are_times_like_any_other():
    made = Session()
    made.stream("m", pa.table({"k": [1, 1], "at": [FIRST + 1, LAST - 1]}), time="at")
    result = made.sql("SELECT x.at AS a, y.at AS b FROM m x, m y WHERE x.k = y.k WINDOW = 0")
    assert [row["a"] for row in result.to_arrow().to_pylist()] == [FIRST + 1, LAST - 1]
    assert (result.progress.null_time, result.progress.stored) == (0, 0)
