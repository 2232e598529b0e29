"""Every family through Spark Connect, batch and streaming, with figures and an error; prints JSON.

Run as a program of its own: a process speaks either Connect or classic Spark.
"""

from __future__ import annotations

import json
import os
import sys
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from bags import bag
from extension.counting import Listed
from extension.folder import Folder, shown
from extension.growing import QUERIES, session
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))

from spark_runs import Run, Streams, closed, draw, table

from windrow.errors import UnsupportedError
from windrow.run.spark.launch import ROCKSDB
from windrow.run.spark.query import PROVIDER_SETTING

FAMILIES = {
    "join": "SELECT x.ts, y.ts AS yts, x.k FROM x, y WHERE x.k = y.k WINDOW = 3",
    "predicate": "SELECT x.ts, half(y.v) AS h FROM x, y WHERE nearby(x.v, y.v) AND x.k < y.k WINDOW = 3",
    "aggregate": "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM x [RANGE 5] GROUP BY k",
    "nested": (
        "SELECT j.k, COUNT(*) AS n FROM "
        "(SELECT x.k FROM x, y WHERE x.k = y.k WINDOW = 3) j [RANGE 6] GROUP BY j.k"
    ),
}


def main(folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config(PROVIDER_SETTING, ROCKSDB)
        .getOrCreate()
    )
    streams = Streams(folder, {name: closed(draw(seed, 2)) for seed, name in enumerate("xy")})
    streams.write_all()
    found = {family: {} for family in FAMILIES}
    batch(spark, streams, found)
    streaming(spark, streams, Run(folder / "run"), found)
    told = {"families": found, "error": failure(spark, folder), "outside": outside(spark, folder)}
    (folder / "answer.json").write_text(json.dumps(told))
    spark.stop()


def with_functions(session: Any) -> Any:
    """The session, with a function of arrays and one of values."""
    session.function("nearby", lambda one, other: pc.less(pc.abs(pc.subtract(one, other)), 3))
    session.function("half", lambda value: value / 2, returns="double", vectorized=False)
    return session


def batch(spark: Any, streams: Streams, found: dict[str, dict[str, Any]]) -> None:
    """The whole answers, and the figures of each."""
    session = with_functions(streams.on_spark(spark, is_streaming=False))
    for family, sql in FAMILIES.items():
        answer, local = session.sql(sql), with_functions(streams.in_process()).sql(sql)
        found[family]["batch"] = sorted(bag(answer.toArrow()).elements())
        found[family]["expected"] = sorted(bag(local).elements())
        found[family]["figures"] = (
            session.progress(answer).rows_in,
            session.progress(answer).rows_out,
        )


def streaming(spark: Any, streams: Streams, run: Run, found: dict[str, dict[str, Any]]) -> None:
    """All families in one query of Spark's, their rows as texts."""
    session = with_functions(streams.on_spark(spark))
    labeled = [
        session.sql(sql).selectExpr(f"'{family}' AS family", "to_json(struct(*)) AS shown")
        for family, sql in FAMILIES.items()
    ]
    run.finish(reduce(lambda left, right: left.union(right), labeled))
    rows = run.rows(spark).to_pylist()
    for family, sql in FAMILIES.items():
        shown = [json.loads(row["shown"]) for row in rows if row["family"] == family]
        # As `bag` has them: a change type first.
        found[family]["streaming"] = sorted(
            [row.pop("_change_type"), *row.values()] if "_change_type" in row else [*row.values()]
            for row in shown
        )
        reader = session.progress_reader(sql)
        last = [reader.read(report) for report in run.reports][-1]
        found[family]["progress"] = last.rows_in, last.rows_out


def failure(spark: Any, folder: Path) -> str:
    """What a late row says that may not be."""
    late = [table([(9, "a", 1)]), table([(1, "a", 1)])]
    streams = Streams(folder / "late", {"x": late, "y": late})
    streams.write_all()
    try:
        Run(folder / "failing").finish(
            streams.on_spark(spark).sql(FAMILIES["join"], on_late="fail")
        )
    except StreamingQueryException as error:
        return str(error)
    return ""


def outside(spark: Any, folder: Path) -> dict[str, Any]:
    """What a run from a source to a sink gives, stopped once, and which sink it refuses."""
    sql = QUERIES["join"]
    for rows in (100, 200):
        (folder / "arrived").write_text(str(rows))
        growing = session(folder, spark)
        run = growing.run(
            sql,
            to=Folder(folder / "sink"),
            checkpoint=str(folder / "checkpoint of the sink"),
            until_done=True,
        )
        run.wait()
    whole = Folder(folder / "whole")
    growing.run(sql, to=whole, until_done=True).wait()
    refused = ""
    try:
        growing.run(sql, to=Listed(), checkpoint=str(folder / "other"))
    except UnsupportedError as error:
        refused = str(error)
    return {
        "expected": _in_process(folder, sql),
        "streaming": sorted(bag(shown(folder / "sink")).elements()),
        "batch": sorted(bag(shown(whole.folder)).elements()),
        "refused": refused,
    }


def _in_process(folder: Path, sql: str) -> list[Any]:
    sink = Listed()
    session(folder).run(sql, to=sink, until_done=True).wait()
    return sorted(bag(pa.Table.from_pylist(sink.rows)).elements())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
