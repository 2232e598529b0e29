"""What others add through `windrow.extend` runs on Spark, batch and streaming."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from extension import counting, quiet, steeper  # noqa: F401  # two add by being imported
from extension.folder import Folder, shown
from sessions import session
from spark_runs import FileStream, SingleRun

import windrow

QUIET = "SELECT q.k, q.t FROM quiet(s, 5) q"
TIMES = [0, 1, 6, 7, 12]


def frame(spark, **columns: Any):
    return spark.createDataFrame(pa.table(columns))


def test_an_added_operator_runs_as_a_batch(spark):
    w = session({"s": frame(spark, k=range(5), t=TIMES)}, time="t", spark=spark)
    assert sorted(row.t for row in w.sql(QUIET).collect()) == [0, 6, 12]


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


def test_an_added_source_and_an_added_sink_move_rows(spark, tmp_path):
    w = windrow.Session(spark)
    w.stream("s", counting.Counting(7), time="t")
    here, there = counting.Listed(), Folder(tmp_path / "out")
    w.run(
        "SELECT n FROM s WHERE n > 1", to=here, checkpoint=str(tmp_path / "a"), until_done=True
    ).wait()
    w.run(
        "SELECT n FROM s WHERE n > 1", to=there, checkpoint=str(tmp_path / "b"), until_done=True
    ).wait()
    assert sorted(row["n"] for row in here.rows) == [2, 3, 4, 5, 6]
    assert sorted(shown(there.folder)["n"].to_pylist()) == [2, 3, 4, 5, 6]
    w.table("all_numbers", counting.Counting(4))
    joined = w.sql("SELECT s.n FROM s JOIN all_numbers a ON s.n = a.n")
    assert joined.isStreaming
