"""Rows that end as changes that do not, against the slow twin: any rows, any batches, any order."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.tape import drawn
from hypothesis import given, settings
from twins.expire import events, net
from twins.snapshot_join import Change, alive

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.feeds import expire
from windrow.operators.feeds.expire import ExpireRowsOp
from windrow.physical.nodes.feeds import ExpireRows
from windrow.physical.nodes.scans import ScanStream
from windrow.schema import MAX_TICK, Field, Schema

pytestmark = pytest.mark.law

COLUMNS = Schema((Field("s.k", "string"), Field("s.x", "bigint")))
SCAN = ScanStream("s", "s", ("k", "x"), COLUMNS, "t", "bigint", 0)


def operator() -> ExpireRowsOp:
    return ExpireRowsOp(ExpireRows(SCAN))


@dataclass(frozen=True)
class Case:
    """Rows in arrival order, cut into batches: (start, stop, watermark, whether it is resumed)."""

    rows: tuple[Change, ...]
    batches: tuple[tuple[int, int, int, bool], ...]
    has_signs: bool

    def batch(self, start: int, stop: int) -> ChangeBatch:
        rows = self.rows[start:stop]
        columns = {
            "s.k": pa.array([row.values[0] for row in rows], pa.string()),
            "s.x": pa.array([row.values[1] for row in rows], pa.int64()),
        }
        return ChangeBatch(
            pa.RecordBatch.from_pydict(columns),
            np.array([row.time for row in rows], np.int64),
            np.array([row.end for row in rows], np.int64),
            np.array([row.sign for row in rows], np.int8) if self.has_signs else None,
        )

    def changes(self) -> list[Change]:
        """What comes out, in the order given."""
        found: list[Change] = []
        expiring = operator()
        for start, stop, watermark, resumes in self.batches:
            if stop > start:
                assert not list(expiring.push([self.batch(start, stop)]))
            given_ = [row for batch in expiring.advance(watermark) for row in rows_of(batch)]
            assert all(change.time < watermark for change in given_)
            found += given_
            assert expiring.due() > watermark or watermark == MAX_TICK
            assert expiring.counters.stored == self.held(stop, watermark)
            if resumes:
                kept = expiring.snapshot()
                expiring = operator()
                expiring.restore(kept)
        return found

    def held(self, came: int, watermark: int) -> int:
        """The rows from the watermark on, and those below it whose end is not out yet."""
        rows = [row for row in self.rows[:came] if row.time < row.end]
        waiting = sum(row.time >= watermark for row in rows)
        ending = [row for row in rows if row.end < MAX_TICK and row.time < watermark]
        return waiting + sum(alive(ending, watermark - 1).values())


def rows_of(batch: ChangeBatch) -> list[Change]:
    assert batch.ends is None
    values = [tuple(row.values()) for row in batch.columns.to_pylist()]
    marks = zip(values, batch.times.tolist(), batch.signs_or_insert().tolist(), strict=True)
    return [Change(own, time, MAX_TICK, sign) for own, time, sign in marks]


def draw_case(random: Random) -> Case:
    has_signs = not random.randrange(3)
    width = random.choice([0, 3, 9])
    rows = []
    for _ in range(random.randrange(1, 16)):
        values = random.choice(["a", "b", None]), random.choice([1, None])
        time = random.randrange(12)
        end = random.choice(
            [time + width + 1, time + width + 1, time + random.randrange(3), MAX_TICK]
        )
        rows.append(Change(values, time, end))
        if has_signs and not random.randrange(3):
            rows.append(Change(values, time + random.randrange(6), end, -1))
    rows.sort(key=lambda row: row.time + random.randrange(4))
    batches, start, watermark = [], 0, 0
    while start < len(rows):
        stop = min(len(rows), start + random.randrange(1, 9))
        least = min((row.time for row in rows[stop:]), default=MAX_TICK)
        watermark = max(watermark, least - random.randrange(3)) if stop < len(rows) else MAX_TICK
        batches.append((start, stop, watermark, not random.randrange(3)))
        start = stop
    return Case(tuple(rows), tuple(batches), has_signs)


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(drawn(draw_case))
def test_every_row_comes_at_its_time_and_goes_at_its_end(case: Case) -> None:
    changes = case.changes()
    order = [(change.time, change.sign) for change in changes]
    assert order == sorted(order)
    assert net(changes) == net(events(case.rows))
    if not case.has_signs:
        assert len(changes) == len(events(case.rows))


@settings(max_examples=share_of(50), deadline=None, derandomize=True)
@given(drawn(draw_case))
def test_expired_rows_are_the_same_in_steps_of_any_size(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        whole = case.changes()
        patch.setattr(expire.ExpireRowsOp, "step_rows", 2)
        assert net(case.changes()) == net(whole)
