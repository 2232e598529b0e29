"""What negative tuples cost and save, in the counters of one query with two windows."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from bags import bag
from sessions import session

import windrow
from windrow.run.local.result import Result

SUM = "SELECT SUM(a.x) AS s, COUNT(*) AS n FROM a [RANGE 10], b [RANGE 5] WHERE a.k = b.k"
PLANS = ("tpa", "nta")
MAX = SUM.replace("SUM(a.x) AS s", "MAX(a.x) AS s")


def drawn_streams(rows: int = 120) -> windrow.Session:
    made, random = windrow.Session(), Random(7)
    for name in ("a", "b"):
        data = pa.table(
            {
                "k": [random.randrange(4) for _ in range(rows)],
                "x": [random.randrange(9) for _ in range(rows)],
                "ts": list(range(rows)),
            }
        )
        batches = data.to_batches(max_chunksize=8)
        made.stream(name, pa.RecordBatchReader.from_batches(data.schema, batches), time="ts")
    return made


class Watched:
    """A run with the figures of its operators, at the end and at most between micro-batches."""

    def __init__(self, result: Result) -> None:
        self.most: dict[str, int] = {}
        batches = []
        for batch in result:
            batches.append(batch)
            for name, figures in result.progress.operators.items():
                self.most[name] = max(self.most.get(name, 0), figures["stored"])
        self.figures = {name.split()[0]: own for name, own in result.progress.operators.items()}
        self.most = {name.split()[0]: most for name, most in self.most.items()}
        self.answer = bag(batches)


@pytest.fixture(scope="module")
def usual() -> Watched:
    return Watched(drawn_streams().sql(SUM, scheduling="tpa"))


@pytest.fixture(scope="module")
def by_negatives() -> Watched:
    return Watched(drawn_streams().sql(SUM, scheduling="nta"))


@pytest.mark.law
def test_the_changes_are_the_same(usual, by_negatives):
    assert by_negatives.answer == usual.answer


def test_an_aggregate_sees_every_tuple_twice_and_stores_none(usual, by_negatives):
    before, after = (run.figures["SlidingAggregate"] for run in (usual, by_negatives))
    assert after["rows_in"] == 2 * before["rows_in"] > 0
    assert after["comparisons"] == before["comparisons"]  # an expiry is an event either way
    assert by_negatives.most["SlidingAggregate"] == 0
    assert usual.most["SlidingAggregate"] > 0
    assert before["drops"] == before["rows_in"]  # each was stored, and looked for when it expired


def test_the_join_holds_its_windows_and_no_combination(usual, by_negatives):
    """Rows wait for the watermark, and leave one tick after their end: as many as one batch more."""
    assert by_negatives.most["ExpiringJoin"] <= usual.most["WJoin"] + 2 * 8
    assert (
        by_negatives.figures["ExpiringJoin"]["rows_out"] == 2 * usual.figures["WJoin"]["rows_out"]
    )
    assert by_negatives.figures["ExpiringJoin"]["stored"] == 0


def test_values_in_order_are_taken_back_by_value():
    by_plan = [Watched(drawn_streams().sql(MAX, scheduling=own)) for own in PLANS]
    assert by_plan[0].answer == by_plan[1].answer
    assert by_plan[1].figures["SlidingAggregate"]["stored"] == 0


def test_late_rows_are_counted_where_rows_enter():
    data = pa.table({"k": [1, 1, 1], "x": [1, 2, 3], "ts": [5, 9, 2]})
    reader = pa.RecordBatchReader.from_batches(data.schema, data.to_batches(max_chunksize=1))
    made = session({"a": reader}, time="ts")
    result = made.sql("SELECT SUM(x) AS s FROM a [RANGE 3]", scheduling="nta")
    assert result.to_arrow()["s"].to_pylist()[-1] is None
    assert result.progress.late == 1


@pytest.mark.parametrize("plan", PLANS)
def test_rows_that_are_counted_alone_need_no_column(plan):
    both = "SELECT k FROM a [RANGE 2] UNION ALL SELECT DISTINCT k FROM b [RANGE 2]"
    result = drawn_streams(rows=3).sql(f"SELECT COUNT(*) AS n FROM ({both}) u", scheduling=plan)
    assert max(result.to_arrow()["n"].to_pylist()) == 5  # three of a, and two values of b


@pytest.mark.law
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("rows", [1, 100])
def test_rows_that_never_meet_leave_no_trace_whatever_the_batches(plan, rows):
    """The row of r comes at 20, when the one that l held has gone: nothing to count, at no time."""
    made = windrow.Session()
    for name, keys, times in (("a", [1], [8]), ("b", [2, 2, 1], [6, 15, 20])):
        data = pa.table({"k": keys, "ts": times})
        reader = pa.RecordBatchReader.from_batches(data.schema, data.to_batches(max_chunksize=rows))
        made.stream(name, reader, time="ts")
    distinct = "(SELECT DISTINCT k FROM a [RANGE 0])"
    sql = f"SELECT COUNT(*) AS n FROM {distinct} l, b [RANGE 1] r WHERE l.k = r.k"
    assert made.sql(sql, scheduling=plan).to_arrow().num_rows == 0


@pytest.mark.law
def test_a_query_by_negative_tuples_is_resumed_as_one():
    first = drawn_streams().sql(SUM, scheduling="nta")
    found = [next(first), next(first)]
    checkpoint = first.checkpoint()
    rest = drawn_streams().sql(SUM, scheduling="nta", resume=checkpoint)
    assert bag([*found, *rest]) == Watched(drawn_streams().sql(SUM)).answer
    with pytest.raises(windrow.PlanError) as refused:
        drawn_streams().sql(SUM, resume=checkpoint)
    assert str(refused.value) == (
        "PlanError[checkpoint-of-another-plan]: the checkpoint was made with scheduling nta, not tpa\n"
        "  with negative tuples operators hold other rows\n"
        "  hint: resume with scheduling = 'nta', or start without resume"
    )
