"""What others add through `windrow.extend` runs on Spark, batch and streaming."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from extension import counting, quiet, steeper
from sessions import session
from spark_runs import FileStream, SingleRun

from windrow.io.protocol import rows_of, write_to

QUIET = "SELECT q.k, q.t FROM quiet(s, 5) q"
TIMES = [0, 1, 6, 7, 12]


def frame(spark, **columns: Any):
    return spark.createDataFrame(pa.table(columns))


def test_an_added_operator_runs_as_a_batch(spark):
    w = session({"s": frame(spark, k=range(5), t=TIMES)}, time="t", spark=spark)
    assert sorted(row.t for row in w.sql(QUIET).collect()) == [0, 6, 12]
    assert quiet.QuietOp.kind == "quiet"


def test_an_added_operator_runs_as_a_stream(spark, tmp_path):
    files = FileStream(tmp_path / "s", pa.schema([("k", pa.int64()), ("t", pa.int64())]))
    files.write(pa.table({"k": range(3), "t": TIMES[:3]}), pa.table({"k": [3, 4], "t": TIMES[3:]}))
    w = session(
        {"s": files.read(spark, "k BIGINT, t BIGINT", is_streaming=True)}, time="t", spark=spark
    )
    run = SingleRun(tmp_path / "run")
    run.start(w.sql(QUIET)).awaitTermination()
    assert sorted(run.rows(spark)["t"].to_pylist()) == [0, 6]  # the watermark has come to 12


def test_an_added_order_judges_pairs(spark):
    w = session(
        {
            "l": frame(spark, x=[10, 20], t=[1, 2]),
            "r": frame(spark, x=[9, 13, 11, 25], t=[1, 2, 3, 4]),
        },
        time="t",
        spark=spark,
    )
    sql = (
        "SELECT l.x, r.x AS y FROM l LEFT OUTER BESTMATCH JOIN r ON l.x RISES_TO r.x"
        " WHERE abs(l.t - r.t) <= 5"
    )
    assert sorted((row.x, row.y) for row in w.sql(sql).collect()) == [(10, 11), (20, 25)]
    assert steeper.rise is not None


def test_an_added_source_and_sink_move_rows(spark):
    w = session({"n": spark.createDataFrame(rows_of(counting.Numbers(10)))}, time="t", spark=spark)
    sink = counting.Listed()
    write_to(w.sql("SELECT n FROM n WHERE n > 7"), sink)
    assert sorted(row["n"] for row in sink.rows) == [8, 9]
