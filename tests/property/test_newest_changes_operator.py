"""Count windows over rows that are deleted, too, against asking the twin at every instant."""

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
from twins.change_feed import alive_at, copies
from twins.count_windows import value_key

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.feeds import count_windows as numbered_rows
from windrow.operators.feeds.count_windows import NewestChangesOp
from windrow.physical.nodes.feeds import CountChanges, ResolveChanges
from windrow.physical.nodes.scans import ScanStream
from windrow.schema import MAX_TICK, Field, Schema

pytestmark = pytest.mark.law

COLUMNS = Schema((Field("f.k", "string"), Field("f.x", "bigint"), Field("f.t", "bigint")))


@dataclass(frozen=True)
class Case:
    """Resolved changes (time, sign, (k, x), came) in arrival order, cut into batches."""

    feed: tuple[tuple[int, int, tuple[str | None, int | None]], ...]
    changes: tuple[tuple[int, int, tuple[str | None, int | None], int], ...]
    most: int
    is_divided: bool
    batches: tuple[tuple[int, int, int, bool], ...]

    def operator(self):
        scan = ScanStream("f", "f", ("k", "x", "t"), COLUMNS, "t", "bigint", 0, changes="c")
        feed = ResolveChanges(scan, "f", ("f.k", "f.x"), None, "f.t", COLUMNS)
        partition = ("f.k",) if self.is_divided else ()
        return NewestChangesOp(CountChanges(feed, "f", self.most, partition, COLUMNS))

    def batch(self, start, stop):
        rows = self.changes[start:stop]
        columns = {
            "f.k": pa.array([values[0] for _, _, values, _ in rows], pa.string()),
            "f.x": pa.array([values[1] for _, _, values, _ in rows], pa.int64()),
            "f.t": pa.array([came for _, _, _, came in rows], pa.int64()),
        }
        times = np.array([time for time, _, _, _ in rows], np.int64)
        signs = np.array([sign for _, sign, _, _ in rows], np.int8)
        return ChangeBatch(pa.RecordBatch.from_pydict(columns), times, None, signs)

    def given(self):
        """(time, sign, (k, x, came)) in the order given."""
        operator, given_ = self.operator(), []
        for start, stop, watermark, stops in self.batches:
            if stop > start:
                assert not list(operator.push([self.batch(start, stop)]))
            for batch in operator.advance(watermark):
                assert batch.ends is None
                values = [tuple(row.values()) for row in batch.columns.to_pylist()]
                signs = batch.signs_or_insert().tolist()
                given_ += zip(batch.times.tolist(), signs, values, strict=True)
            assert operator.due() > watermark or watermark == MAX_TICK
            if stops:
                kept = operator.snapshot()
                operator = self.operator()
                operator.restore(kept)
        there = alive_at(copies(list(self.feed), None), MAX_TICK - 1)
        assert operator.counters.stored == len(there)
        return given_

    def newest_at(self, instant):
        there = alive_at(copies(list(self.feed), None), instant)
        order = sorted(there, key=lambda row: (row[1], value_key(row[0][0]), value_key(row[0][1])))
        found, taken = Counter(), Counter()
        for values, came in reversed(order):
            key = values[0] if self.is_divided else ""
            taken[key] += 1
            found[*values, came] += taken[key] <= self.most
        return +found


def draw_case(random: Random) -> Case:
    feed = []
    for _ in range(random.randrange(1, 16)):
        time = random.randrange(12)
        values = random.choice(["a", "b", None]), random.choice([1, 2, None])
        feed.append((time, 1, values))
        if random.randrange(3):
            feed.append((random.randrange(time, 14), -1, values))
    found = copies(feed, None)
    changes = [(c.time, 1, c.values, c.time) for c in found]
    changes += [(c.deleted, -1, c.values, c.time) for c in found if c.deleted < MAX_TICK]
    changes.sort(key=lambda change: change[0] + random.randrange(5))
    batches, start, watermark = [], 0, 0
    while start < len(changes):
        stop = min(len(changes), start + random.randrange(1, 9))
        least = min((change[0] for change in changes[stop:]), default=MAX_TICK)
        watermark = max(watermark, least - random.randrange(3)) if stop < len(changes) else MAX_TICK
        batches.append((start, stop, watermark, not random.randrange(3)))
        start = stop
    most = random.choice([1, 2, 4])
    return Case(tuple(feed), tuple(changes), most, bool(random.randrange(2)), tuple(batches))


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(drawn(draw_case))
def test_at_every_instant_the_newest_of_the_rows_not_deleted_are_there(case):
    changes = case.given()
    assert [time for time, _, _ in changes] == sorted(time for time, _, _ in changes)
    for instant in range(15):
        total = Counter()
        for time, sign, row in changes:
            total[row] += sign * (time <= instant)
        assert {row: n for row, n in total.items() if n} == case.newest_at(instant)


@settings(max_examples=share_of(50), deadline=None, derandomize=True)
@given(drawn(draw_case))
def test_the_newest_changes_are_the_same_in_steps_of_any_size(case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbered_rows.NumberedRowsOp, "step_rows", 2)
        total = Counter()
        for _, sign, row in case.given():
            total[row] += sign
    assert {row: n for row, n in total.items() if n} == case.newest_at(14)
