"""Which bucket, or buckets, each row of a batch goes to: `physical/partitioning.py` over arrays.

Routing reads values alone, so that a replayed batch goes the way it went before. Rows that can
meet no other (a NULL in a join key, no position in a cell) are still sent to one bucket, where the
operator counts them; their event times spread them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InternalError
from windrow.operators.changes import ChangeBatch
from windrow.operators.distances import Measure
from windrow.operators.key_columns import Words, validity
from windrow.operators.keys import key_words, mixed_words
from windrow.operators.shedding.marks import is_mark
from windrow.physical.partitioning import (
    Cells,
    HashKeys,
    HashShares,
    Partitioning,
    Single,
    Slices,
)
from windrow.physical.specs import MatwinBestmatch, SlidingAggregate, Stateful, WJoin
from windrow.schema import MAX_TICK, MIN_TICK

Rows = NDArray[np.int64]
Buckets = NDArray[np.int32]
Flags = NDArray[np.bool_]

_FARTHEST = 1e300
"""Positions beyond this count as there: near the largest double, sums would overflow."""

_FARTHEST_CELL = float(1 << 61)
_SIGN_BIT = np.uint64(1 << 63)


def route(
    spec: Stateful, partitioning: Partitioning, port: int, batch: ChangeBatch, buckets: int
) -> tuple[Rows, Buckets]:
    """Rows of a batch, and the bucket of each; a row that is copied appears once per bucket.

    Every row appears at least once. A row without an event time goes to bucket 0.

    Args:
        spec: the stage.
        partitioning: how the stage is partitioned.
        port: the input that the rows belong to.
        batch: the rows.
        buckets: how many buckets there are; at least those that the partitioning uses.
    """
    if partitioning.buckets > buckets:
        raise InternalError(
            "too-few-buckets",
            f"a stage cut into {partitioning.buckets} buckets was given {buckets}",
        )
    if not len(batch) or isinstance(partitioning, Single):
        return np.arange(len(batch)), np.zeros(len(batch), np.int32)
    if isinstance(partitioning, HashKeys):
        keys = [batch.columns.column(name) for name in partitioning.columns]
        homes = _shares(key_words(keys, nulls_match=True).words, partitioning.buckets)
        return _timed(batch, *_with_marks(spec, batch, homes, partitioning.buckets))
    if isinstance(partitioning, HashShares):
        assert isinstance(spec, WJoin | MatwinBestmatch)
        return _timed(batch, *_by_shares(spec, partitioning, port, batch))
    if isinstance(partitioning, Slices):
        return _timed(batch, *_by_slices(partitioning, port, batch.times))
    assert isinstance(spec, MatwinBestmatch)
    return _timed(batch, *_by_cells(spec, partitioning, port, batch))


def _with_marks(
    spec: Stateful, batch: ChangeBatch, homes: Buckets, buckets: int
) -> tuple[Rows, Buckets]:
    """Rows in their homes; in every bucket those that tell all groups of results that may miss."""
    rows = np.arange(len(batch))
    if not (isinstance(spec, SlidingAggregate) and spec.estimated_from):
        return rows, homes
    marks = is_mark(batch.columns)
    counts = np.where(marks, buckets, 1)
    rows = np.repeat(rows, counts)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, np.where(marks[rows], step, homes[rows]).astype(np.int32)


def _timed(batch: ChangeBatch, rows: Rows, buckets: Buckets) -> tuple[Rows, Buckets]:
    """The same, with each row without an event time once, in bucket 0."""
    without = batch.times == MIN_TICK
    if not without.any():
        return rows, buckets
    timed = ~without[rows]
    strays = np.flatnonzero(without)
    return (
        np.concatenate([rows[timed], strays]),
        np.concatenate([buckets[timed], np.zeros(len(strays), np.int32)]),
    )


def _by_shares(
    spec: WJoin | MatwinBestmatch, shares: HashShares, port: int, batch: ChangeBatch
) -> tuple[Rows, Buckets]:
    """The one bucket of rows that have a key in every dimension; else all along the others.

    bucket = (coordinate[0] * shares[1] + coordinate[1]) * shares[2] + ...
    """
    homes = np.zeros((len(batch), 1), np.int32)  # one column per copy
    can_match = np.ones(len(batch), np.bool_)
    for group, share in zip(shares.classes, shares.shares, strict=True):
        columns = [spec.classes[key].columns[port] for key in group]
        if columns[0] is None:  # all classes of a dimension are over the same inputs
            along = np.arange(share, dtype=np.int32)
            homes = (homes[:, :, None] * np.int32(share) + along).reshape(len(batch), -1)
            continue
        keys = [batch.columns.column(name) for name in columns]
        own = _shares(key_words(keys, nulls_match=True).words, share)
        homes = homes * np.int32(share) + own[:, None]
        for key, column in zip(group, keys, strict=True):
            valid = None if spec.classes[key].null_safe else validity(column)
            if valid is not None:
                can_match &= valid
    rows = np.repeat(np.arange(len(batch)), homes.shape[1])
    return _with_strays(batch, rows, homes.reshape(-1), can_match, shares.buckets)


def _by_slices(slices: Slices, port: int, times: Rows) -> tuple[Rows, Buckets]:
    """The bucket of an anchor row's slice; those of all slices that another row can reach."""
    if port == slices.anchor:
        homes = (times // slices.width) % slices.buckets
        return np.arange(len(times)), homes.astype(np.int32)
    first = _later(times, -slices.before[port]) // slices.width
    last = _later(times, slices.after[port]) // slices.width
    # Neighboring slices are in different buckets: as many of them as there are buckets are all.
    # (A period that the bounds leave empty still has one home, where the row is counted.)
    counts = np.clip(last - first + 1, 1, slices.buckets)
    rows = np.repeat(np.arange(len(times)), counts)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, ((first[rows] + step) % slices.buckets).astype(np.int32)


@dataclass(frozen=True)
class OwnSlices:
    """What a bucket of a full outer join answers for: the rows that have their home in it.

    Copies of other buckets' rows are there to be met.
    """

    slices: Slices
    bucket: int

    def holds(self, times: Rows) -> Flags:
        """Which rows are at home here, by their times."""
        homes: Flags = (times // self.slices.width) % self.slices.buckets == self.bucket
        return homes


def own_slices(partitioning: Partitioning, bucket: int) -> OwnSlices | None:
    """What a bucket answers for; None where it answers for all that it finds."""
    if not isinstance(partitioning, Slices) or partitioning.anchor is not None:
        return None
    return OwnSlices(partitioning, bucket)


def _later(times: Rows, ticks: int) -> Rows:
    """The times moved by some ticks, as far as the first or last tick."""
    if ticks >= 0:
        return np.where(times > MAX_TICK - ticks, MAX_TICK, times + ticks)
    return np.where(times < MIN_TICK - ticks, MIN_TICK, times + ticks)


def _by_cells(
    spec: MatwinBestmatch, cells: Cells, port: int, batch: ChangeBatch
) -> tuple[Rows, Buckets]:
    """The bucket of a left row's cell; the buckets of all cells within a right row's reach."""
    positions = _positions(spec, cells, port, batch)
    usable = np.isfinite(positions)
    at = np.clip(np.where(usable, positions, 0.0), -_FARTHEST, _FARTHEST)
    if port == 0:
        homes = _shares(_cell_numbers(at, cells).view(np.uint64), cells.buckets)
        return _with_strays(batch, np.arange(len(batch)), homes, usable, cells.buckets)
    # Wider by some units in the last place than the sums below can be off. A cell number grows
    # with its position, rounding or not, so that no cell of a candidate is missed.
    slack = 4 * np.spacing(np.abs(at) + abs(float(cells.before)) + abs(float(cells.after)))
    first = _cell_numbers(at - float(cells.before) - slack, cells)
    last = _cell_numbers(at + float(cells.after) + slack, cells)
    rows, homes = _copies(first, last, cells.buckets)
    return _with_strays(batch, rows, homes, usable, cells.buckets)


def _positions(
    spec: MatwinBestmatch, cells: Cells, port: int, batch: ChangeBatch
) -> NDArray[np.float64]:
    """Where the rows are in the dimension that is cut into cells; NaN for nowhere."""
    if cells.dimension is None:
        return batch.times.astype(np.float64)
    dimension = spec.dimensions[cells.dimension]
    measure = Measure.of(dimension, spec.left.schema, spec.right.schema)
    values, has_value = measure.values(batch, port)
    positions: NDArray[np.float64]
    if measure.scale is None:
        positions = values.view(np.float64).copy()
    else:
        positions = (values ^ _SIGN_BIT).view(np.int64) / 10.0**measure.scale
    if has_value is not None:
        positions[~has_value] = np.nan
    return positions


def _cell_numbers(positions: NDArray[np.float64], cells: Cells) -> NDArray[np.int64]:
    with np.errstate(over="ignore"):  # an infinite quotient is clipped like any other
        numbers = np.floor(positions / float(cells.width))
    return np.clip(numbers, -_FARTHEST_CELL, _FARTHEST_CELL).astype(np.int64)


def _copies(
    first: NDArray[np.int64], last: NDArray[np.int64], buckets: int
) -> tuple[Rows, Buckets]:
    """Each row with the buckets of its cells first to last, every bucket once."""
    # A row that reaches more cells than there are buckets is given all of them.
    everywhere = last - first >= buckets
    counts = np.where(everywhere, buckets, last - first + 1)
    rows = np.repeat(np.arange(len(first)), counts)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    hashed = _shares((first[rows] + step).view(np.uint64), buckets)
    homes = np.where(everywhere[rows], step, hashed)
    pairs = np.unique(rows * buckets + homes)
    return pairs // buckets, (pairs % buckets).astype(np.int32)


def _with_strays(
    batch: ChangeBatch, rows: Rows, buckets: Buckets, can_match: Flags, used: int
) -> tuple[Rows, Buckets]:
    """The same, with each row that can match nothing once, in a bucket by its time."""
    if can_match.all():
        return rows, buckets
    matching = can_match[rows]
    strays = np.flatnonzero(~can_match)
    homes = _shares(batch.times[strays].view(np.uint64), used)
    return (
        np.concatenate([rows[matching], strays]),
        np.concatenate([buckets[matching], homes]),
    )


def _shares(words: Words, share: int) -> Buckets:
    """The words, spread evenly over `share` parts."""
    return (mixed_words(words) % np.uint64(share)).astype(np.int32)
