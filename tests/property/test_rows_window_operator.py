"""Count windows as changes, against asking at every instant: any rows, any batches, any order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.tape import drawn
from hypothesis import given, settings

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.feeds import count_windows as numbered_rows
from windrow.operators.feeds.count_windows import CountRowsOp
from windrow.physical.nodes.feeds import CountRows
from windrow.physical.nodes.scans import ScanStream
from windrow.schema import MAX_TICK, Field, Schema

pytestmark = pytest.mark.law

COLUMNS = Schema((Field("s.k", "string"), Field("s.x", "bigint")))


@dataclass(frozen=True)
class Case:
    """Rows (time, k, x) in arrival order, cut into batches with their watermarks."""

    rows: tuple[tuple[int, str | None, int | None], ...]
    most: int
    is_divided: bool
    batches: tuple[tuple[int, int, int, bool], ...]

    def operator(self):
        scan = ScanStream("s", "s", ("k", "x"), COLUMNS, "t", "bigint", 0)
        return CountRowsOp(
            CountRows(scan, "s", self.most, ("s.k",) if self.is_divided else (), COLUMNS)
        )

    def batch(self, start, stop):
        rows = self.rows[start:stop]
        columns = {
            "s.k": pa.array([k for _, k, _ in rows], pa.string()),
            "s.x": pa.array([x for _, _, x in rows], pa.int64()),
        }
        times = np.array([time for time, _, _ in rows], np.int64)
        return ChangeBatch(pa.RecordBatch.from_pydict(columns), times)

    def changes(self):
        """(time, sign, (k, x)) in the order given."""
        operator, given_ = self.operator(), []
        for start, stop, watermark, stops in self.batches:
            if stop > start:
                assert not list(operator.push([self.batch(start, stop)]))
            for batch in operator.advance(watermark):
                signs = batch.signs_or_insert().tolist()
                values = [tuple(row.values()) for row in batch.columns.to_pylist()]
                given_ += zip(batch.times.tolist(), signs, values, strict=True)
                assert batch.ends is None
            assert operator.due() > watermark or watermark == MAX_TICK
            if stops:
                kept = operator.snapshot()
                operator = self.operator()
                operator.restore(kept)
        groups = Counter(k for _, k, _ in self.rows) if self.is_divided else {"": len(self.rows)}
        assert operator.counters.stored == sum(min(n, self.most) for n in groups.values())
        return given_

    def alive_at(self, instant):
        """The newest rows with a time up to the instant, in the one order."""
        there = sorted(
            (row for row in self.rows if row[0] <= instant),
            key=lambda row: (
                row[0],
                row[1] is not None,
                row[1] or "",
                row[2] is not None,
                row[2] or 0,
            ),
        )
        if not self.is_divided:
            return Counter(row[1:] for row in there[-self.most :])
        found = Counter()
        for key in {row[1] for row in there}:
            found.update(row[1:] for row in [r for r in there if r[1] == key][-self.most :])
        return found


def draw_case(random: Random) -> Case:
    rows = [
        (random.randrange(12), random.choice(["a", "b", None]), random.choice([1, 2, None]))
        for _ in range(random.randrange(1, 24))
    ]
    rows.sort(key=lambda row: row[0] + random.randrange(5))
    batches, start, watermark = [], 0, 0
    while start < len(rows):
        stop = min(len(rows), start + random.randrange(1, 10))
        least = min((time for time, _, _ in rows[stop:]), default=MAX_TICK)
        watermark = max(watermark, least - random.randrange(3)) if stop < len(rows) else MAX_TICK
        batches.append((start, stop, watermark, not random.randrange(3)))
        start = stop
    return Case(tuple(rows), random.choice([1, 2, 5]), bool(random.randrange(2)), tuple(batches))


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(drawn(draw_case))
def test_at_every_instant_the_newest_rows_are_there(case):
    changes = case.changes()
    assert [time for time, _, _ in changes] == sorted(time for time, _, _ in changes)
    for instant in range(13):
        total = Counter()
        for time, sign, row in changes:
            if time <= instant:
                total[row] += sign
        assert {row: n for row, n in total.items() if n} == case.alive_at(instant)


@settings(max_examples=share_of(50), deadline=None, derandomize=True)
@given(drawn(draw_case))
def test_a_count_window_gives_the_same_changes_in_steps_of_any_size(case):
    with pytest.MonkeyPatch.context() as patch:
        whole = Counter(case.changes())
        patch.setattr(numbered_rows.NumberedRowsOp, "step_rows", 2)
        assert Counter(case.changes()) == whole
