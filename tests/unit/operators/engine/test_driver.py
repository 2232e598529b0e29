from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest
from cases.driving import step

from windrow.errors import DataError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.engine import driver
from windrow.operators.engine.base import Operator, Snapshot
from windrow.operators.engine.driver import OperatorDriver, Setting
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.stateless import FilterRows, RangeRows
from windrow.physical.nodes.time_join import TimeJoin
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import MAX_TICK, MIN_TICK, Schema

NO_COLUMNS = Schema(())
SCAN = ScanStream("sales", "s", (), NO_COLUMNS, "at", "bigint", 3)
OTHER = ScanStream("clicks", "c", (), NO_COLUMNS, "at", "bigint", 0)
GRAPH = WindowGraph(("s", "c"), (Bound(0, 1, 5, 5),))


def join(left, right) -> TimeJoin:
    return TimeJoin((left, right), ("s", "c"), (), GRAPH, ((), ()), "nested-loop", NO_COLUMNS)


BESTMATCH = MatwinBestmatch(
    SCAN, OTHER, (), (), lo=4, hi=10, keep=((), ()), keep_unmatched=False, schema=NO_COLUMNS
)


class Recorder(Operator):
    """Gives back what it is handed, and writes down what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[object] = []

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        self.log.append([None if batch is None else batch.times.tolist() for batch in batches])
        yield from (batch for batch in batches if batch is not None and len(batch))

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        self.log.append(watermark)
        yield from ()

    def due(self) -> int:
        return 50

    def buffers(self) -> Sequence[ChunkBuffer]:
        return ()

    def snapshot(self) -> Snapshot:
        return Snapshot("recorder", {}, {"entries": len(self.log)})

    def restore(self, snapshot: Snapshot) -> None:
        self.log = ["restored"] * snapshot.numbers["entries"]


@pytest.fixture(autouse=True)
def _recorded(monkeypatch):
    monkeypatch.setattr(driver, "build", lambda *_: Recorder())


def rows(*times: int) -> ChangeBatch:
    return ChangeBatch(pa.record_batch({"n": np.arange(len(times))}), np.array(times, np.int64))


def test_rows_below_the_watermark_as_their_batch_begins_are_late():
    #        7 8 9 | 10 11        watermark before: 10
    driven = OperatorDriver(join(SCAN, OTHER))
    out = step(driven, [rows(11, 9, 10, 7), rows(8)], 10, 12)
    assert [batch.times.tolist() for batch in out] == [[11, 10]]
    assert driven.operator.log == [[[11, 10], []], 12]
    assert (driven.counters.late, driven.counters.null_time) == (3, 0)


def test_order_within_a_batch_does_not_count():
    driven = OperatorDriver(join(SCAN, OTHER))
    step(driven, [rows(100, 1), None], MIN_TICK, 97)
    assert driven.operator.log == [[[100, 1], None], 97]
    assert driven.counters.late == 0


def test_rows_without_a_time_are_counted_apart_whatever_the_watermark():
    driven = OperatorDriver(join(SCAN, OTHER))
    step(driven, [rows(MIN_TICK, 5), None], MIN_TICK, MIN_TICK)
    step(driven, [rows(MIN_TICK, 3), None], 4, 4)
    assert driven.operator.log == [[[5], None], 4]
    assert (driven.counters.late, driven.counters.null_time) == (1, 2)


def test_late_rows_are_handed_to_the_collector_with_their_port():
    kept = []

    def keep(port: int, late: ChangeBatch) -> None:
        kept.append((port, late.columns.to_pydict(), late.times.tolist()))

    driven = OperatorDriver(join(SCAN, OTHER), Setting("keep", keep))
    step(driven, [None, rows(1, 20, MIN_TICK)], 10, 12)
    assert kept == [(1, {"n": [0, 2]}, [1, MIN_TICK])]
    assert driven.operator.log == [[None, [20]], 12]
    assert (driven.counters.late, driven.counters.null_time) == (1, 1)


def test_a_late_row_is_fatal_by_choice_and_says_by_how_much():
    driven = OperatorDriver(join(SCAN, OTHER), Setting("fail"))
    with pytest.raises(DataError) as error:
        step(driven, [rows(30, 8, 9), None], 10, 12)
    assert str(error.value) == (
        "DataError[late-row]: a row of sales at 8 is late\n"
        "  the watermark was 10 as its batch began; the stream promises a lateness of 3\n"
        "  hint: raise the lateness of sales by 2 or more, or set on_late to 'count' or 'keep'"
    )


def test_a_row_without_a_time_is_fatal_by_choice():
    driven = OperatorDriver(join(SCAN, OTHER), Setting("fail"))
    with pytest.raises(DataError) as error:
        step(driven, [None, rows(MIN_TICK)], MIN_TICK, MIN_TICK)
    assert str(error.value) == (
        "DataError[null-time]: a row of clicks has no event time: its at is NULL\n"
        "  hint: filter such rows out, or set on_late to 'count' or 'keep'"
    )


def test_only_ports_that_streams_feed_have_late_rows():
    node = join(FilterRows(RangeRows(SCAN, 5), ()), BESTMATCH)
    assert node.fed_by_streams == (True, False)
    driven = OperatorDriver(node)
    list(driven.push([None, rows(1)], 10))
    assert driven.operator.log == [[None, [1]]]


def test_a_stage_subtracts_the_delays_below_it_but_streams_are_late_by_the_querys_watermark():
    #                 query's watermark before: 20
    #     10..19 would be in time by the driver's own watermark (20 - hi 10), and is late all the same
    driven = OperatorDriver(join(SCAN, BESTMATCH))
    step(driven, [rows(15, 20), rows(10)], 20, 30)
    assert driven.operator.log == [[[20], [10]], 20]
    assert driven.counters.late == 1
    assert driven.due() == 60


def test_the_ends_of_time_have_no_delay():
    driven = OperatorDriver(SlidingAggregate(BESTMATCH, (), (), NO_COLUMNS))
    assert step(driven, [None], MIN_TICK, MIN_TICK) == []
    assert step(driven, [None], MIN_TICK, MAX_TICK) == []
    assert driven.operator.log == [MAX_TICK]


def test_state_goes_out_and_comes_back_through_the_stage():
    driven = OperatorDriver(join(SCAN, OTHER))
    step(driven, [rows(1), None], MIN_TICK, 1)
    again = OperatorDriver(join(SCAN, OTHER))
    again.restore(driven.snapshot())
    assert again.operator.log == ["restored", "restored"]
