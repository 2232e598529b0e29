"""Change feeds against the twin: any changes, any batches, any order within the promise."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.tape import drawn
from hypothesis import given, reject, settings
from twins.change_feed import NEVER, NothingToDelete, alive_at, copies

from windrow.errors import DataError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.feeds import change_feed
from windrow.operators.feeds.change_feed import ResolveChangesOp
from windrow.physical.nodes.feeds import ResolveChanges
from windrow.physical.nodes.scans import ScanStream
from windrow.schema import MAX_TICK, Field, Schema

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)

COLUMNS = Schema((Field("f.k", "string"), Field("f.x", "double"), Field("f.t", "bigint")))


@dataclass(frozen=True)
class Case:
    """Changes (time, sign, values) in arrival order, cut into batches with their watermarks."""

    changes: tuple[tuple[int, int, tuple[str | None, float | None]], ...]
    ticks: int | None
    batches: tuple[tuple[int, int, int], ...]
    stops: tuple[bool, ...]

    def operator(self):
        scan = ScanStream("f", "f", ("k", "x", "t"), COLUMNS, "t", "bigint", 0, changes="c")
        compared = ("f.k", "f.x")
        return ResolveChangesOp(ResolveChanges(scan, "f", compared, self.ticks, "f.t", COLUMNS))

    def batch(self, start, stop):
        rows = self.changes[start:stop]
        times = np.array([time for time, _, _ in rows], np.int64)
        columns = {
            "f.k": pa.array([values[0] for _, _, values in rows], pa.string()),
            "f.x": pa.array([values[1] for _, _, values in rows], pa.float64()),
            "f.t": pa.array(times),
        }
        signs = np.array([sign for _, sign, _ in rows], np.int8)
        return ChangeBatch(pa.RecordBatch.from_pydict(columns), times, None, signs)

    def results(self):
        operator, given_ = self.operator(), []
        for (start, stop, watermark), stops in zip(self.batches, self.stops, strict=True):
            if stop > start:
                assert not list(operator.push([self.batch(start, stop)]))
            given_ += operator.advance(watermark)
            assert operator.due() > watermark or watermark == MAX_TICK
            if stops:
                kept = operator.snapshot()
                operator = self.operator()
                operator.restore(kept)
        return given_, operator


def feed(random: Random) -> Case:
    ticks = random.choice([None, 4, 0, 9])
    count = random.randrange(1, 24)
    changes = []
    keys = [("a", 0.0), ("b", None), (None, -0.0), ("a", float("nan"))]
    for _ in range(count):
        time, values = random.randrange(0, 20), random.choice(keys)
        changes.append((time, 1, values))
        if random.randrange(3):
            later = random.randrange(time, 24)
            changes.append((later, -1, values))
    if not random.randrange(8):
        changes.append((random.randrange(0, 24), -1, random.choice(keys)))
    changes.sort(key=lambda change: change[0] + random.randrange(0, 6))
    batches, start, watermark = [], 0, 0
    while start < len(changes):
        stop = min(len(changes), start + random.randrange(1, 12))
        left = [time for time, _, _ in changes[stop:]]
        least = min(left, default=MAX_TICK)
        watermark = max(watermark, least - random.randrange(0, 3)) if left else MAX_TICK
        batches.append((start, stop, watermark))
        start = stop
    stops = tuple(not random.randrange(3) for _ in batches)
    return Case(tuple(changes), ticks, tuple(batches), stops)


def plain(values):
    key, number = values
    if number is None:
        return key, None
    return key, "nan" if math.isnan(number) else number + 0.0


def sums_at(batches, instant):
    """The bag of rows at an instant, as the law of changes has it."""
    total = Counter()
    for batch in batches:
        rows = zip(
            batch.columns.to_pylist(),
            batch.times.tolist(),
            batch.ends_or_never().tolist(),
            batch.signs_or_insert().tolist(),
            strict=True,
        )
        for row, time, end, sign in rows:
            if time <= instant < end:
                total[plain((row["f.k"], row["f.x"])), row["f.t"]] += sign
    return {row: count for row, count in total.items() if count}


@EXAMPLES
@given(drawn(feed))
def test_at_every_instant_the_rows_are_those_that_the_changes_say(case):
    try:
        found = copies([(t, s, plain(v)) for t, s, v in case.changes], case.ticks)
    except NothingToDelete:
        with pytest.raises(DataError, match="deletes a row that is not there"):
            case.results()
        return
    batches, operator = case.results()
    for instant in range(40):
        assert sums_at(batches, instant) == Counter(alive_at(found, instant))
    for batch in batches:
        assert (np.diff(batch.times) >= 0).all()
    left = [c for c in found if c.end == c.deleted == NEVER]
    assert operator.counters.stored == (len(left) if case.ticks is None else 0)


@EXAMPLES
@given(drawn(feed))
def test_a_change_feed_gives_the_same_rows_in_steps_of_any_size(case):
    with pytest.MonkeyPatch.context() as patch:
        try:
            whole, _ = case.results()
        except DataError:
            reject()
        patch.setattr(change_feed.ResolveChangesOp, "step_rows", 2)
        parts, _ = case.results()
    for instant in range(40):
        assert sums_at(whole, instant) == sums_at(parts, instant)
