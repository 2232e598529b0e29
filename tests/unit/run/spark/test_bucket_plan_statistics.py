"""The numbers that a bucket shows: of the rows held, and of those that have come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.physical.partitioning.buckets import Slices
from windrow.run.spark.bucket_plan import MOST_LOOKED_AT, BucketStatistics
from windrow.schema import MIN_TICK


def rows(times, values=None) -> ChangeBatch:
    columns = pa.record_batch({"x": pa.array(times if values is None else values, pa.int64())})
    return ChangeBatch(columns, np.array(times, np.int64))


def held(times):
    buffer = ChunkBuffer("time")
    buffer.append(rows(times))
    return buffer.slices


def test_a_rate_is_that_of_all_rows_at_hand():
    seen = BucketStatistics([held(range(100, 140))], [rows(range(140, 180, 2))])
    assert seen.rate(0).value == 60 / 78
    assert seen.rows_per_batch(0) == 20
    assert seen.numbers == (60 / 78, 20)


def test_rows_that_expired_do_not_count():
    buffer = ChunkBuffer("time", held(range(100)))
    buffer.drop_below(40)
    assert BucketStatistics([buffer.slices], [None]).rate(0).value == 60 / 59


def test_where_none_is_held_a_rate_begins_with_the_newest_before():
    assert BucketStatistics([()], [rows([110, 120])], [100]).rate(0).value == 2 / 20
    assert BucketStatistics([()], [rows([110, 120])], [MIN_TICK]).rate(0).value == 2 / 10


@pytest.mark.parametrize("come", [None, rows([]), rows([7, 7]), rows([MIN_TICK])])
def test_without_a_stretch_of_time_there_is_no_rate(come):
    assert BucketStatistics([()], [come]).rate(0) is None


def test_rows_without_a_time_do_not_stretch_it():
    assert BucketStatistics([()], [rows([MIN_TICK, 10, 20])]).rate(0).value == 2 / 10


def test_in_slices_the_time_between_them_does_not_count():
    # One row per tick in every fourth slice of 40 ticks.
    dealt = Slices(anchor=0, width=40, before=(0,), after=(0,), buckets=4)
    for slices in (1, 10, 3_000):
        starts = range(0, 160 * slices, 160)
        times = [start + tick for start in starts for tick in range(40)]
        seen = BucketStatistics([()], [rows(times)], slices=dealt)
        assert seen.rate(0).value == pytest.approx(1, rel=0.05)
    assert BucketStatistics([()], [rows(times)]).rate(0).value < 0.3


def test_different_values_are_estimated_from_a_bounded_sample():
    times = list(range(10 * MOST_LOOKED_AT))
    for keys in (np.array(times) % 50, np.random.default_rng(1).integers(0, 50, len(times))):
        assert BucketStatistics([()], [rows(times, keys)]).different(0, "x").value == 50
    unique = BucketStatistics([()], [rows(times)]).different(0, "x").value
    assert MOST_LOOKED_AT < unique < len(times)
    assert BucketStatistics([()], [None]).different(0, "x") is None


def test_the_share_of_a_band_is_that_of_pairs():
    seen = BucketStatistics([(), ()], [rows(range(10)), rows(range(10))])
    assert seen.within((0, "x"), (1, "x"), 0, 0).value == pytest.approx(0.1)
    assert BucketStatistics([(), ()], [rows([1]), None]).within((0, "x"), (1, "x"), 0, 0) is None
