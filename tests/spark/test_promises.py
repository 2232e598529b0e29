"""Punctuations on Spark: they move the watermark, close a stream, and are no data."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark_runs import FileStream, SingleRun, bag

import windrow

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("told", pa.bool_())])
DDL = "ts bigint, k string, told boolean"
QUERY = (
    "SELECT k, COUNT(*) AS n FROM (SELECT x.k, x.ts FROM x LEFT OUTER BESTMATCH JOIN y"
    " ON x.ts MINDIST y.ts WHERE abs(x.ts - y.ts) <= 4) AS p [RANGE 6] GROUP BY k"
)


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
        columns = zip(*rows, strict=True)
        batches.append(
            pa.table(dict(zip(SCHEMA.names, map(list, columns), strict=True)), schema=SCHEMA)
        )
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
    expected = bag(here.sql(QUERY).to_arrow())
    assert len(expected) > 10
    if not is_streaming:
        assert bag(there.sql(QUERY).toArrow()) == expected
        return
    run = SingleRun(tmp_path / "run")
    run.finish(there.sql(QUERY))
    assert bag(run.rows(spark)) == expected
    # By punctuations alone: none in the first batch, then those of the second and of the third.
    assert len({report.eventTime["watermark"] for report in run.reports}) == 3


def test_a_streaming_dataframe_has_no_read_ahead(spark: Any, tmp_path: Path) -> None:
    frame = FileStream(tmp_path / "x", SCHEMA).read(spark, DDL, is_streaming=True)
    with pytest.raises(windrow.UnsupportedError) as refused:
        windrow.Session(spark).stream("x", frame, time="ts", read_ahead=3)
    assert str(refused.value) == (
        "UnsupportedError[read-ahead-without-order]: the stream x has a read-ahead, and is a"
        " streaming DataFrame\n"
        "  Spark reads the rows of a micro-batch in parallel: there is no order of arrival in which"
        " to count them\n"
        "  hint: promise a lateness, or have the source send punctuations: punctuation='column'"
    )
