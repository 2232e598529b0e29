"""Bestmatch joins of every kind on Spark: many cases in one run, each against the twin."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from bags import bag
from cases.bestmatches import draw_many
from cases.match_runs import FUNCTIONS
from spark_runs import FileStream, SingleRun, session_of

import windrow
from windrow.operators.columns.arrow_types import spark_schema
from windrow.run.progress import Progress


def with_orders(session: windrow.Session) -> windrow.Session:
    """The session, with the orders that cases by value have."""
    for name, own in FUNCTIONS.items():
        session.function(
            name,
            own.body,
            arguments=own.arguments,
            returns=own.returns,
            partial_order=own.is_partial_order,
        )
    return session


SPILL = {"memory": "220 kB", "on_memory": "spill"}
"""Three joins in three buckets each: their windows go to pages, unless orders look at values."""

CASES = {True: 12, False: 90}
"""By key and by cells: the latter as many as do not fit."""


@pytest.mark.parametrize("keyed", [True, False], ids=["by key and value", "by cells and distance"])
def test_a_batch_run_gives_the_whole_answer_of_every_kind(spark, tmp_path, keyed: bool) -> None:
    case = draw_many(Random(1), keyed=keyed, cases=CASES[keyed])
    session = with_orders(session_of(spark, case, tmp_path, is_streaming=False))
    answer = session.sql(case.sql, buckets=3, **SPILL)
    assert bag(answer.toArrow()) == case.answer
    assert are_paged(session.progress(answer)) is not keyed


@pytest.mark.parametrize("keyed", [True, False], ids=["by key and value", "by cells and distance"])
def test_a_streaming_run_gives_what_is_proven_of_every_kind(spark, tmp_path, keyed: bool) -> None:
    case = draw_many(Random(2), keyed=keyed, cases=CASES[keyed])
    run = SingleRun(tmp_path / "run")
    session = with_orders(session_of(spark, case, tmp_path, is_streaming=True))
    run.finish(session.sql(case.sql, buckets=3, **SPILL))
    expected = case.answer_below_watermark()
    assert 0 < len(expected) < len(case.answer)
    assert bag(run.rows(spark)) == expected
    reader = session.progress_reader(case.sql, **SPILL)
    assert any(are_paged(reader.read(report)) for report in run.reports) is not keyed


def are_paged(progress: Progress) -> bool:
    """Whether every join has written pages and searched them."""
    work = [
        min(one["page_writes"], one["gallops"] + one["crabsteps"])
        for one in progress.operators.values()
    ]
    return min(work) > 0


NESTED = """
    SELECT m.k, COUNT(*) AS n
    FROM (SELECT l.k, r.id
          FROM (SELECT a.k, b.x FROM a, b WHERE a.k = b.k WINDOW = 3) l
               FULL OUTER BESTMATCH JOIN c r ON l.x MINDIST r.x WITHIN 2 WINDOW = 4) m [RANGE 6]
    GROUP BY m.k
"""
LAST = 1_000
"""A row of every stream at this time lets all before it become final."""


@pytest.mark.parametrize("is_streaming", [False, True], ids=["batch", "streaming"])
def test_a_match_of_a_joined_input_is_grouped_as_it_is_in_process(
    spark, tmp_path, is_streaming: bool
) -> None:
    random = Random(3)
    here, there = windrow.Session(), windrow.Session(spark)
    for name in "abc":
        rows = [(random.randrange(40), random.randrange(2), random.randrange(9)) for _ in range(30)]
        columns = [*zip(*sorted(rows), strict=True)]
        ts, k, x = ([*column, last] for column, last in zip(columns, (LAST, 9, 99), strict=True))
        table = pa.table({"ts": ts, "k": k, "x": x, "id": range(len(ts))})
        here.stream(name, table, time="ts")
        files = FileStream(tmp_path / name, table.schema)
        files.write(table.slice(0, 15), table.slice(15))
        ddl = spark_schema(table.schema).ddl()
        there.stream(name, files.read(spark, ddl, is_streaming=is_streaming), time="ts")
    answer = there.sql(NESTED, buckets=2)
    if is_streaming:
        run = SingleRun(tmp_path / "run")
        run.finish(answer)
        found = run.rows(spark)
    else:
        found = answer.toArrow()
    expected = here.sql(NESTED).to_arrow()
    earlier = [
        {row: n for row, n in bag(t).items() if row[-1] < LAST / 2} for t in (found, expected)
    ]
    assert len(earlier[1]) > 50
    assert earlier[0] == earlier[1]
