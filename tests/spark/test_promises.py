"""Promises on Spark: punctuations and read-ahead move the watermark, batch after batch."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from plans import scan_of
from pyspark.errors import StreamingQueryException
from sessions import session
from spark_runs import FAR, FileStream, Run, SingleRun

import windrow
from windrow.run.spark.relations import watermark_told
from windrow.run.spark.ticks import lateness_text, watermark_ticks
from windrow.schema import MIN_TICK

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("told", pa.bool_())])
DDL = "ts bigint, k string, told boolean"
QUERY = (
    "SELECT k, COUNT(*) AS n FROM (SELECT x.k, x.ts FROM x LEFT OUTER BESTMATCH JOIN y"
    " ON x.ts MINDIST y.ts WHERE abs(x.ts - y.ts) <= 4) AS p [RANGE 6] GROUP BY k"
)


def table_of(rows: list[tuple[int, str | None, bool | None]]) -> pa.Table:
    """Rows (ts, k, told) of a stream."""
    columns = map(list, zip(*rows, strict=True))
    return pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA)


def drawn(seed: int) -> list[pa.Table]:
    """Three batches in no order within thirds of time, each closed by a punctuation in the next."""
    draw = random.Random(seed)
    batches = []
    for third in range(3):
        ticks = [10 * third + draw.randrange(10) for _ in range(8)]
        rows: list[tuple[int, str | None, bool | None]] = [
            (tick, draw.choice("ab"), draw.choice([False, None])) for tick in ticks
        ]
        if third:
            rows.insert(draw.randrange(8), (10 * third - 1, None, True))
        if third == 2:
            rows.append((1000, None, True))
        batches.append(table_of(rows))
    return batches


@pytest.mark.parametrize("is_streaming", [False, True], ids=["batch", "streaming"])
def test_punctuations_give_on_spark_what_they_give_in_process(
    spark: Any, tmp_path: Path, is_streaming: bool
) -> None:
    here, there = windrow.Session(), windrow.Session(spark)
    for seed, name in enumerate("xy"):
        batches = drawn(seed)
        here.stream(name, batches, time="ts", punctuation="told")
        files = FileStream(tmp_path / name, SCHEMA)
        files.write(*batches)
        frame = files.read(spark, DDL, is_streaming=is_streaming)
        there.stream(name, frame, time="ts", punctuation="told")
    expected = bag(here.sql(QUERY))
    assert len(expected) > 10
    if not is_streaming:
        assert bag(there.sql(QUERY).toArrow()) == expected
        return
    run = SingleRun(tmp_path / "run")
    run.finish(there.sql(QUERY))
    assert bag(run.rows(spark)) == expected
    # By punctuations alone: none in the first batch, then those of the second and of the third.
    assert len({report.eventTime["watermark"] for report in run.reports}) == 3


# Five rows in a row beyond an instant complete it, and no batch has five: what the batches before
# have brought is remembered, over a stop and a batch that is run again.
#
#   x   3 1 5 4 | 2 6 8 7 | 9 12 1000 1000 | 1000 1000 1000
#             from 4 to 7: 2; from 8 to the first 1000: 7; the last five: 1000
AHEAD = [[3, 1, 5, 4], [2, 6, 8, 7], [9, 12, FAR, FAR], [FAR, FAR, FAR]]
REACHED = [MIN_TICK, 2, 7, FAR]
BESIDE = [(tick, "b", False) for tick in (1, 4, 6, 9, 12)]


def test_a_read_ahead_goes_on_from_micro_batch_to_micro_batch(spark: Any, tmp_path: Path) -> None:
    xs = [table_of([(tick, "ab"[tick % 2], None) for tick in ticks]) for ticks in AHEAD]
    # With 5 ticks of lateness y is complete up to the last row by its punctuation alone. Once
    # started anew, Spark waits for y to tell it again how far it has come.
    ys = [table_of([(FAR, None, True), *BESIDE]), table_of([(FAR, None, True)])]
    files = {name: FileStream(tmp_path / name, SCHEMA) for name in "xy"}
    run, seen = Run(tmp_path / "run"), []
    for half in range(2):
        files["x"].write(*xs[2 * half : 2 * half + 2])
        files["y"].write(ys[half])
        x, y = (files[name].read(spark, DDL, is_streaming=True) for name in "xy")
        there = session({"x": x}, time="ts", read_ahead=5, spark=spark)
        there.stream("y", y, time="ts", lateness=5, punctuation="told")
        run.finish(there.sql(QUERY))
        reader = there.progress_reader(QUERY)
        seen += [reader.read(report).watermark for report in run.reports[len(seen) :]]
        if half == 0:
            run.forget_last_commit()
    assert sorted(set(seen)) == REACHED
    here = session({"x": xs}, time="ts", read_ahead=5)
    here.stream("y", ys, time="ts", punctuation="told")
    whole = bag(here.sql(QUERY))
    assert bag(run.rows(spark)) == Counter({row: n for row, n in whole.items() if row[-1] < FAR})
    assert run.rows(spark).num_rows > 10


def test_who_breaks_a_read_ahead_is_late(spark: Any, tmp_path: Path) -> None:
    sql = "SELECT k, COUNT(*) AS n FROM x [RANGE 3] GROUP BY k"
    files = FileStream(tmp_path / "x", SCHEMA)
    files.write(*(table_of([(t, "a", None) for t in ticks]) for ticks in ([5, 7], [4, 6, 5, 8, 9])))
    session, run = windrow.Session(spark), SingleRun(tmp_path / "run")
    frame = files.read(spark, DDL, is_streaming=True)
    session.stream("x", frame, time="ts", read_ahead=2)
    run.finish(session.sql(sql))
    reader = session.progress_reader(sql)
    records = [reader.read(report) for report in run.reports]
    assert [(record.rows_in, record.late, record.watermark) for record in records] == [
        (2, 0, MIN_TICK),
        (7, 1, 5),  # all that came; the row at 4 is late, those at 5 are not
        (7, 1, 8),
    ]


@pytest.mark.partitions(2)
def test_a_read_ahead_without_an_order_of_arrival_is_refused(spark: Any, tmp_path: Path) -> None:
    files = FileStream(tmp_path / "x", SCHEMA)
    files.write(table_of([(tick, "a", None) for tick in range(20)]))
    frame = files.read(spark, DDL, is_streaming=True)
    w = session({"x": frame.repartition(2)}, time="ts", read_ahead=3, spark=spark)
    with pytest.raises(StreamingQueryException) as refused:
        SingleRun(tmp_path / "run").finish(w.sql("SELECT DISTINCT k FROM x [RANGE 3]"))
    text = str(refused.value).split("An exception was thrown from the Python worker: ")[1]
    assert text.startswith(
        "DataError[read-ahead-without-order]: the stream x has a read-ahead, and a micro-batch of it"
        " came in 2 partitions\n"
    )
    assert "Traceback" not in text


def test_files_of_one_micro_batch_have_no_order_either(spark: Any, tmp_path: Path) -> None:
    files = FileStream(tmp_path / "x", SCHEMA)
    files.write(*(table_of([(tick, "a", None)]) for tick in range(2)))
    frame = spark.readStream.schema(DDL).parquet(str(files.folder))
    w = session({"x": frame.coalesce(1)}, time="ts", read_ahead=3, spark=spark)
    with pytest.raises(StreamingQueryException, match="a micro-batch of it came from 2 files"):
        SingleRun(tmp_path / "run").finish(w.sql("SELECT DISTINCT k FROM x [RANGE 3]"))


def test_what_is_told_to_spark_never_closes_early(spark: Any) -> None:
    """Microseconds are told as milliseconds: a punctuation closes less than one of them late."""
    ticks = [n * 1000 + beside for n in (-3, 0, 7) for beside in (-1, 0, 1, 998, 999)]
    for time_type, lateness in (("timestamp", 0), ("timestamp", 1500), ("bigint", 3), ("date", 2)):
        node = replace(scan_of("x", lateness=lateness, punctuation="told"), time_type=time_type)
        rows = spark.createDataFrame(
            [(t, False) for t in ticks], "__time bigint, __is_data boolean"
        )
        told = rows.selectExpr("__time", f"unix_millis({watermark_told(node)}) AS millis").collect()
        delay = int(lateness_text(lateness, time_type).split()[0])
        late = [t + 1 - watermark_ticks(millis - delay, time_type) for t, millis in told]
        assert min(late) == 0
        assert max(late) == (999 if time_type == "timestamp" else 0)


def test_a_batch_has_all_rows_and_needs_no_read_ahead(spark: Any, tmp_path: Path) -> None:
    files = FileStream(tmp_path / "x", SCHEMA)
    never = 2**63 - 1  # no time
    files.write(
        *(table_of([(tick, "a", None)]) for tick in (7, 8, never, 2))
    )  # 2 breaks the promise
    frame = files.read(spark, DDL, is_streaming=False)
    w = session({"x": frame.repartition(3)}, time="ts", read_ahead=2, spark=spark)
    answer = w.sql("SELECT ts, COUNT(*) AS n FROM x [RANGE 3] GROUP BY ts")
    assert answer.count() == 6
    assert (w.progress(answer).late, w.progress(answer).null_time) == (0, 1)
