"""Joins with tables on Spark: the answers of a session in process, and late rows kept once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bags import bag
from spark_runs import FAR, Run, Streams, closed, draw, table

from windrow.errors import UnsupportedError

SHOPS = pa.table(
    {
        "k": pa.array(["a", "a", "b", None, "end"]),
        "v": pa.array([1, 5, None, 3, 0], pa.int64()),
        "name": pa.array(["one", "two", "three", "none", "far"]),
    }
)
COLORS = pa.table({"name": ["one", "two", "two"], "color": ["red", "blue", "green"]})

QUERIES = {
    "inner": "SELECT x.ts, x.v, s.name FROM x, shops s WHERE x.k = s.k",
    "left": "SELECT x.ts, x.v, s.name FROM x LEFT JOIN shops s ON x.k = s.k AND x.v > s.v",
    "semi": "SELECT x.ts, x.v FROM x LEFT SEMI JOIN shops s ON x.k = s.k AND x.v > s.v",
    "anti": "SELECT x.ts, x.v FROM x LEFT ANTI JOIN shops s ON x.k = s.k AND x.v > s.v",
    "null safe": "SELECT x.ts, s.name FROM x JOIN shops s ON NULLIF(x.v, 3) <=> s.v",
    "theta": "SELECT x.ts, s.name FROM x JOIN shops s ON x.v < s.v AND x.v + s.v > 4",
    "theta left": "SELECT x.ts, s.name FROM x LEFT JOIN shops s ON x.v < s.v",
    "functions": "SELECT x.ts, s.name FROM x, shops s WHERE upper(x.k) = shout(s.k) AND big(x.v + s.v)",
    "cross": "SELECT COUNT(*) AS n FROM x [RANGE 4], shops s",
    "connects": (
        "SELECT x.ts, y.ts AS yts, s.name FROM x, y, shops s WHERE x.k = s.k AND s.v = y.v WINDOW = 9"
    ),
    "aggregate": (
        "SELECT c.color, COUNT(*) AS n FROM x [RANGE 5], shops s LEFT JOIN colors c "
        "ON s.name = c.name WHERE x.k = s.k GROUP BY c.color"
    ),
    "changelog": (
        "SELECT g.k, g.n, s.name FROM (SELECT k, COUNT(*) AS n FROM x [RANGE 5] GROUP BY k) g "
        "LEFT JOIN shops s ON g.k = s.k AND g.n > s.v"
    ),
    "outer": (
        "SELECT x.ts, y.ts AS yts, s.name FROM x JOIN shops s ON x.k = s.k LEFT JOIN y "
        "ON s.v = y.v WINDOW = 3"
    ),
}


def with_tables(session: Any, spark: Any = None) -> Any:
    for name, rows in (("shops", SHOPS), ("colors", COLORS)):
        session.table(name, rows if spark is None else spark.createDataFrame(rows))
    session.function("big", lambda v: None if v is None else v > 4, vectorized=False)
    session.function("shout", lambda k: None if k is None else k.upper(), returns="string", vectorized=False)  # fmt: skip
    return session


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Streams:
    tables = {name: closed(draw(seed, 2)) for seed, name in enumerate("xy")}
    found = Streams(tmp_path_factory.mktemp("streams"), tables)
    found.write_all()
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_a_batch_run_gives_the_answer_of_a_session_in_process(
    spark: Any, streams: Streams, query: str
) -> None:
    expected = bag(with_tables(streams.in_process()).sql(QUERIES[query]))
    session = with_tables(streams.on_spark(spark, is_streaming=False), spark)
    assert bag(session.sql(QUERIES[query]).toArrow()) == expected
    assert expected


STREAMED = """
    SELECT s.name, COUNT(*) AS n FROM x [RANGE 6]
    JOIN y [RANGE 9] ON x.k = y.k LEFT ANTI JOIN colors c ON x.k = c.color
    LEFT SEMI JOIN shops t ON y.k = t.k LEFT JOIN shops s ON x.k = s.k AND y.v >= s.v
    GROUP BY s.name
"""


@pytest.mark.law
def test_a_streaming_run_that_is_stopped_after_every_batch_gives_the_same(
    spark: Any, tmp_path: Path
) -> None:
    streams = Streams(tmp_path, {n: closed(draw(seed, 2)) for seed, n in enumerate("xy")})
    run = Run(tmp_path / "run")
    for batch in range(streams.batches):
        streams.write(batch)
        run.finish(with_tables(streams.on_spark(spark), spark).sql(STREAMED))
        if batch == 0:
            run.forget_last_commit()
    whole = bag(with_tables(streams.in_process()).sql(STREAMED))
    expected = {row: n for row, n in whole.items() if FAR not in row and row[-1] < FAR}
    assert bag(run.rows(spark)) == expected
    assert expected


LATE = "SELECT s.name, COUNT(*) AS n FROM x [RANGE 5], shops s WHERE x.k = s.k GROUP BY s.name"


def test_a_late_row_that_matches_several_rows_of_a_table_is_kept_once(
    spark: Any, tmp_path: Path
) -> None:
    # Two equal late rows are two; that of b matches one row, that of c none.
    rows = [[(10, "a", 1), (30, "a", 1)], [(9, "a", 3), (9, "a", 3), (8, "b", 1), (7, "c", 1)]]
    streams = Streams(tmp_path, {"x": [table(batch) for batch in rows]})
    streams.write_all()
    letters = tmp_path / "letters"
    session = with_tables(streams.on_spark(spark), spark)
    Run(tmp_path / "run").finish(
        session.sql(LATE, on_late="keep", dead_letters=str(letters), buckets=3)
    )
    found = [row for path in letters.glob("x/*.parquet") for row in pq.read_table(path).to_pylist()]
    in_process = with_tables(streams.in_process()).sql(LATE, on_late="keep")
    in_process.to_arrow()
    late = in_process.late["x"].to_pylist()
    expected = [row | {"_stream": "x", "_event_time": row["ts"]} for row in late]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert len(found) == 3


def test_a_stream_that_stands_twice_in_from_keeps_no_letters_beside_a_table(
    spark: Any, streams: Streams, tmp_path: Path
) -> None:
    session = with_tables(streams.on_spark(spark), spark)
    query = (
        "SELECT p.ts FROM x p LEFT SEMI JOIN shops s ON p.k = s.k, x q WHERE p.k = q.k WINDOW = 5"
    )
    with pytest.raises(UnsupportedError, match="unsupported-letters"):
        session.sql(query, on_late="keep", dead_letters=str(tmp_path))
