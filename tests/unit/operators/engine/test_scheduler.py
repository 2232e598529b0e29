"""Operators connected by queues: who works next, to which clock operators come, and when."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from plans import planned
from sessions import session

import windrow
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.driver import Clock, Driver, MicroBatch, Setting
from windrow.operators.engine.row_drivers import BatchDriver, ScanDriver
from windrow.operators.engine.scheduler import SCHEDULINGS, Scheduler, driver_of
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.options import ITA, NTA, TPA
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

ROWS = pa.schema([("at", pa.int64()), ("x", pa.int64())])
SUM = "SELECT SUM(x) AS x FROM a [RANGE 3] WHERE x > 4"
EXCEPT = "SELECT x FROM a [RANGE 3] EXCEPT SELECT x FROM b [RANGE 3]"
NESTED = (
    "SELECT x, COUNT(*) AS n FROM (SELECT DISTINCT x FROM a [RANGE 3] WHERE x > 4) d GROUP BY x"
)


def rows(*values: tuple[int, int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"at": at, "x": x} for at, x in values], schema=ROWS)


def batches_of(**streams: list[pa.RecordBatch]) -> windrow.Session:
    """Streams read batch by batch; one may have none."""
    readers = {
        name: pa.RecordBatchReader.from_batches(ROWS, batches) for name, batches in streams.items()
    }
    return session(readers, time="at")


class Rounds:
    """A query in process, fed one micro-batch at a time; the watermark is what the test says."""

    def __init__(self, sql: str, scheduling: str) -> None:
        query = planned(batches_of(a=[], b=[]), sql, {"scheduling": scheduling})
        root = driver_of(query.root, Setting())
        self.scheduler = Scheduler(root, SCHEDULINGS[query.schedule.name])
        self.watermark = MIN_TICK
        self.operators = self.scheduler.operators

    def drivers(self, driver: Driver) -> Iterator[Driver]:
        yield driver
        for below in driver.below:
            yield from self.drivers(below)

    def add(self, watermark: int, **arrived: list[tuple[int, int]]) -> list[tuple[Any, ...]]:
        batches = {name: rows(*values) for name, values in arrived.items()}
        work = MicroBatch(batches, self.watermark, watermark)
        self.watermark = watermark
        return [
            (*values.values(), int(sign), int(time))
            for batch in self.scheduler.run(work)
            for values, sign, time in zip(
                batch.columns.to_pylist(), batch.signs_or_insert(), batch.times, strict=True
            )
        ]


def test_by_input_an_operator_is_advanced_only_when_rows_reach_it() -> None:
    query = Rounds(SUM, ITA)
    assert query.add(1, a=[(1, 6)]) == []  # more may come at 1
    assert query.add(2, a=[(2, 0)]) == []  # what the selection keeps back brings no clock
    assert query.add(9, a=[(9, 0)]) == []
    assert query.add(10, a=[(10, 7)]) == [(6, 1, 1), (6, -1, 5), (None, 1, 5)]
    assert query.add(MAX_TICK) == [(None, -1, 10), (7, 1, 10), (7, -1, 14), (None, 1, 14)]


@pytest.mark.parametrize("scheduling", [TPA, NTA])
def test_by_time_it_is_advanced_when_a_row_would_come_or_go(scheduling: str) -> None:
    query = Rounds(SUM, scheduling)
    assert query.add(1, a=[(1, 6)]) == []
    assert query.add(2, a=[(2, 0)]) == [(6, 1, 1)]
    assert query.add(9, a=[(9, 0)]) == [(6, -1, 5), (None, 1, 5)]
    assert query.add(10, a=[(10, 7)]) == []
    assert query.add(MAX_TICK) == [(None, -1, 10), (7, 1, 10), (7, -1, 14), (None, 1, 14)]


@pytest.mark.parametrize("scheduling", [TPA, NTA])
def test_all_that_is_due_comes_out_in_one_round_however_many_operators(scheduling: str) -> None:
    query = Rounds(NESTED, scheduling)
    query.add(1, a=[(1, 6)])
    assert query.add(2, a=[(2, 0)]) == [(6, 1, 1, 1)]
    # DISTINCT takes 6 back at 5, and the count of it goes at once.
    assert query.add(9, a=[(9, 0)]) == [(6, 1, -1, 5)]


def test_by_negative_tuples_the_slowest_input_holds_nobody() -> None:
    query = Rounds(EXCEPT, NTA)
    assert query.add(1, a=[(1, 6)], b=[(1, 5)]) == []
    # Nothing from b, but its operators know the time: what a brings is out at once.
    assert query.add(7, a=[(7, 6)]) == [(6, 1, 1), (6, -1, 5)]
    aggregate = query.operators[0]
    assert aggregate.due() > aggregate.clock == 7


def test_by_input_the_slowest_input_holds_an_operator_until_it_ends() -> None:
    query = Rounds(EXCEPT, ITA)
    assert query.add(1, a=[(1, 6)], b=[(1, 5)]) == []
    assert query.add(7, a=[(7, 6)]) == []  # nothing from b: its clock is 1
    work = MicroBatch({"a": rows((8, 6))}, 7, 8, frozenset({"b"}))
    assert [batch.times.tolist() for batch in query.scheduler.run(work)] == [[1, 5, 7]]


def test_an_operator_is_never_advanced_beyond_the_watermark() -> None:
    query = Rounds(SUM, ITA)
    query.add(1, a=[(1, 6)])
    list(query.scheduler.run(MicroBatch({}, 1, 2, frozenset({"a"}))))
    assert query.operators[0].clock == 2


# Figure 2: 7 has been received and is on its way to SUM when 5 would expire.
def test_figure_2_nothing_expires_while_an_older_tuple_is_on_the_way() -> None:
    query = Rounds(SUM, TPA)
    query.add(1, a=[(1, 5)])
    query.add(2, a=[(2, 0)])
    (operator,) = query.operators
    scan = next(node for node in query.drivers(operator) if isinstance(node, ScanDriver))
    select = operator.below[0].below[0]
    work = MicroBatch({"a": rows((4, 7))}, 2, 9)
    scan.take(work)
    assert scan.get_time(9) == 2  # received, and not yet read
    scan.begin(work)
    assert (scan.get_time(9), select.get_time(9)) == (9, 2)  # it waits before the selection
    operator.begin_turn(work.after, probes=True, is_woken=True)
    assert operator.clock == 2
    # Once it has come, the sum has it before 5 goes: 12, then 7.
    assert query.add(10) == [
        (5, -1, 4),
        (12, 1, 4),
        (12, -1, 5),
        (7, 1, 5),
        (7, -1, 8),
        (None, 1, 8),
    ]


# Figure 3(a): the path of a probe ends at an operator, which answers with its local clock.
def test_figure_3_a_probe_ends_at_the_next_operator_or_at_a_scan() -> None:
    query = Rounds(NESTED, ITA)
    query.add(1, a=[(1, 6)])
    query.add(5, a=[(5, 0)])
    count, distinct = query.operators
    assert (count.clock, distinct.clock) == (MIN_TICK, 1)  # nothing has reached COUNT
    assert count.below[0].get_time(5) == 1
    assert distinct.below[0].get_time(5) == 5


class Doubling(BatchDriver):
    """Gives what it takes twice, and remembers how much its reader had left at the most."""

    most = 0

    def apply(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        for _ in range(2):
            self.most = max(self.most, len(self.out))
            yield rows


def test_what_an_operator_gives_is_used_before_it_gives_more() -> None:
    schema = Schema((Field("x", "bigint"),))
    scan: Driver = ScanDriver(ScanStream("a", "a", ("x",), schema, "at", "bigint", 0))
    scan.feed([])
    drivers = [scan]
    for _ in range(4):
        drivers.append(Doubling(scan.node))
        drivers[-1].feed(drivers[-2:-1])
    scheduler = Scheduler(drivers[-1], SCHEDULINGS[TPA])
    seen = []
    for batch in scheduler.run(MicroBatch({"a": rows((1, 1))}, MIN_TICK, 1)):
        seen.append([len(driver.out) for driver in drivers[1:]])
        assert len(batch) == 1
    assert len(seen) == 16
    assert max(map(max, seen)) == 0
    assert all(driver.most == 0 for driver in drivers[1:])


def test_clocks_follow_rows_and_the_last_one_goes_through_everything() -> None:
    schema = Schema((Field("x", "bigint"),))
    scan = ScanDriver(ScanStream("a", "a", ("x",), schema, "at", "bigint", 0))
    scan.feed([])
    scan.take(MicroBatch({}, MIN_TICK, 4))
    assert not scan.has_work
    work = MicroBatch({"a": rows((5, 1))}, 4, 5)
    scan.take(work)
    scan.begin(work)
    entry, clock = scan.out
    assert isinstance(entry, ChangeBatch)
    assert np.array_equal(entry.times, [5])
    assert clock == Clock(5)
    for _ in range(2):
        scan.take(MicroBatch({}, 5, 5, frozenset({"a"})))
    assert list(scan.out)[2:] == [Clock(MAX_TICK)]


A = [rows((at, x)) for at, x in [(1, 6), (2, 0), (4, 5), (7, 6), (8, 0), (9, 5), (12, 6)]]
B = [rows((at, x)) for at, x in [(1, 5), (3, 6), (8, 7), (15, 6)]]


@pytest.mark.law
@pytest.mark.parametrize("scheduling", [ITA, TPA, NTA])
@pytest.mark.parametrize("sql", [EXCEPT, NESTED, f"{EXCEPT} UNION ALL SELECT x FROM b [RANGE 3]"])
def test_a_query_that_is_resumed_goes_on_with_its_clocks(sql: str, scheduling: str) -> None:
    def given(result: Any) -> list[list[dict[str, Any]]]:
        return [batch.to_pylist() for batch in result]

    whole = batches_of(a=A, b=B).sql(sql, scheduling=scheduling)
    expected = given(whole)
    for stop in range(1, len(expected)):
        first = batches_of(a=A, b=B).sql(sql, scheduling=scheduling)
        found = [next(first).to_pylist() for _ in range(stop)]
        checkpoint = pickle.loads(pickle.dumps(first.checkpoint()))
        rest = batches_of(a=A, b=B).sql(sql, scheduling=scheduling, resume=checkpoint)
        assert [*found, *given(rest)] == expected
        assert rest.response == whole.response


def test_a_checkpoint_without_clocks_has_come_to_its_watermark() -> None:
    first = batches_of(a=A).sql(SUM)
    found = [next(first)]
    checkpoint = replace(first.checkpoint(), clocks=None)
    found += list(batches_of(a=A).sql(SUM, resume=checkpoint))
    assert found == list(batches_of(a=A).sql(SUM))
