"""The counters of every operator: on Spark, streaming and batch, what they are in process.

All families run in one streaming query of Spark's over one stream, so that the micro-batches are
the same as in process.
"""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from plans import planned
from spark_runs import SingleRun, Streams, closed, draw, table

from windrow.errors import PlanError, UnsupportedError
from windrow.run.local.execution import Execution
from windrow.run.progress import Progress, ProgressView

FAMILIES = {
    "join": "SELECT p.ts FROM x p, x q WHERE p.k = q.k WINDOW = 5",
    "aggregate": "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM x [RANGE 5] GROUP BY k",
    "bestmatch": (
        "SELECT p.ts FROM x p LEFT OUTER BESTMATCH JOIN x q ON p.ts MINDIST q.ts, p.v MINDIST q.v "
        "WHERE p.k = q.k AND abs(p.ts - q.ts) <= 4 AND abs(p.v - q.v) <= 9"
    ),
    "nested": (
        "SELECT j.k, COUNT(*) AS n FROM "
        "(SELECT p.k FROM x p, x q WHERE p.k = q.k WINDOW = 3) j [RANGE 6] GROUP BY j.k"
    ),
}
ROWS = ("rows_in", "rows_out", "late", "null_time", "drops", "stored")

# The nested query is a join and an aggregate.
IN_BUCKETS = (FAMILIES["bestmatch"], FAMILIES["nested"])
# The work depends on how rows are cut: these run in one bucket. In process the aliases of a join
# are pushed one after the other, on Spark together, which changes the number of its look-ups.
IN_ONE_BUCKET = {
    FAMILIES["join"].replace("= 5", "= 4"): ("comparisons",),
    FAMILIES["aggregate"].replace("RANGE 5", "RANGE 4"): ("probes", "comparisons"),
    FAMILIES["bestmatch"].replace("<= 4", "<= 3"): ("probes", "comparisons"),
}


@pytest.fixture
def streams(tmp_path: Path) -> Streams:
    # Below the watermark as the last batch begins, and without any time.
    bad = table([(2, "a", 1), (3, "b", 1), (None, "c", 1)])
    found = Streams(tmp_path, {"x": closed([*draw(7, 2), bad])})
    found.write_all()
    return found


class Records(ProgressView):
    """Keeps the record of every micro-batch."""

    def __init__(self) -> None:
        self.kept: list[Progress] = []

    def show(self, progress: Progress) -> None:
        self.kept.append(progress)

    def warn(self, text: str) -> None:
        self.warned = text

    def close(self) -> None:
        pass


def in_process(streams: Streams, sql: str) -> list[Progress]:
    """The records of a run in process; the last is that of the end of the stream."""
    session, records = streams.in_process(), Records()
    execution = Execution(planned(session, sql), session._registered.data, renderer=records)
    while execution.next() is not None:
        pass
    return records.kept


def figures(record: Progress, names: tuple[str, ...]) -> dict[str, Any]:
    operators = {
        operator: {name: counters[name] for name in names}
        for operator, counters in record.operators.items()
    }
    return operators | {name: getattr(record, name) for name in names if name in ROWS[:4]}


def test_streaming_counts_what_the_run_in_process_counts(
    spark: Any, streams: Streams, tmp_path: Path
) -> None:
    session, run = streams.on_spark(spark), SingleRun(tmp_path / "run")
    answers = [
        *(session.sql(sql, buckets=3) for sql in IN_BUCKETS),
        *(session.sql(sql, buckets=1) for sql in IN_ONE_BUCKET),
    ]
    run.finish(reduce(lambda a, b: a.union(b), [a.selectExpr("1 AS one") for a in answers]))
    for sql in (*IN_BUCKETS, *IN_ONE_BUCKET):
        reader = session.progress_reader(sql)
        last = [reader.read(report) for report in run.reports][-1]
        *_, before_the_end, _ = in_process(streams, sql)
        names = (*ROWS, *IN_ONE_BUCKET.get(sql, ()))
        assert figures(last, names) == figures(before_the_end, names), sql
        assert last.streams == before_the_end.streams, sql
        assert before_the_end.streams["x"].late == 2, sql


def test_a_batch_run_counts_what_the_run_in_process_counts(spark: Any, streams: Streams) -> None:
    session = streams.on_spark(spark, is_streaming=False)
    for family, sql in FAMILIES.items():
        answer = session.sql(sql, buckets=3)
        answer.count()
        local = streams.in_process(lateness=1000).sql(sql)  # a batch knows no late rows
        local.to_arrow()
        assert figures(session.progress(answer), ROWS) == figures(local.progress, ROWS), family


def test_figures_are_those_of_an_answer_that_was_computed(spark: Any, streams: Streams) -> None:
    session = streams.on_spark(spark, is_streaming=False)
    answer = session.sql(FAMILIES["join"])
    with pytest.raises(PlanError) as none_yet:
        session._runner._figures[answer].read(wait_s=0.1)
    assert none_yet.value.condition == "no-figures"
    with pytest.raises(PlanError) as another:
        session.progress(answer.limit(1))
    assert another.value.condition == "not-an-answer"
    with pytest.raises(UnsupportedError) as streaming:
        session.progress(streams.on_spark(spark).sql(FAMILIES["join"]))
    assert streaming.value.condition == "streaming-progress"
    # One question twice in one query of Spark's: each has figures of its own.
    twice = answer.union(session.sql(FAMILIES["join"]))
    assert twice.count() == 2 * session.progress(answer).rows_out > 0
