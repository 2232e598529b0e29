"""Which bucket, or buckets, each row of a batch goes to: `route`, `physical/partitioning` over arrays.

Routing reads values alone, so that a replayed batch goes the way it went before. Rows that can
meet no other (a NULL in a join key, no position in a cell) are still sent to one bucket, where the
operator counts them; their event times spread them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.errors import InternalError
from windrow.operators.bestmatch.distances import Measure
from windrow.operators.columns.arrow_types import moved
from windrow.operators.columns.changes import ChangeBatch, counted
from windrow.operators.columns.key_columns import Words, can_equal, key_words, mixed_words
from windrow.operators.load_shedding.draws import is_mark
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.shapes import TwoStreamJoin
from windrow.physical.partitioning.buckets import (
    Axis,
    Cells,
    HashKeys,
    HashShares,
    Partitioning,
    Single,
    Slices,
)
from windrow.schema import MIN_TICK

Rows = NDArray[np.int64]
Buckets = NDArray[np.int32]
Flags = NDArray[np.bool_]


def with_strays(
    batch: ChangeBatch, rows: Rows, buckets: Buckets, can_match: Flags, used: int
) -> tuple[Rows, Buckets]:
    """The same, with each row that can match nothing once, in a bucket by its time."""
    if can_match.all():
        return rows, buckets
    matching = can_match[rows]
    strays = np.flatnonzero(~can_match)
    homes = stray_homes(batch.times[strays], used)
    return (
        np.concatenate([rows[matching], strays]),
        np.concatenate([buckets[matching], homes]),
    )


def spread(words: Words, share: int) -> Buckets:
    """The words, spread evenly over `share` parts."""
    return (mixed_words(words) % np.uint64(share)).astype(np.int32)


def stray_homes(times: Rows, share: int) -> Buckets:
    """Where rows go that can match nothing: by their times."""
    return spread(np.ascontiguousarray(times).view(np.uint64), share)


_FARTHEST = 1e300
"""Positions beyond this count as there: near the largest double, sums would overflow."""

_MOST_EXACT = float(1 << 52)
"""Below this, whole numbers and their sums are doubles."""

_FARTHEST_CELL = float(1 << 61)
_SIGN_BIT = np.uint64(1 << 63)


@dataclass(frozen=True)
class OwnCells:
    """What a bucket of a full outer bestmatch join answers for: the rows at home in its cells."""

    node: MatwinBestmatch
    cells: Cells
    bucket: int

    def holds(self, port: int, rows: ChangeBatch) -> Flags:
        """Which rows of an input are at home here."""
        at_home: Flags = home_cells(self.node, self.cells, port, rows) == self.bucket
        return at_home


def by_cells(
    node: MatwinBestmatch, cells: Cells, port: int, batch: ChangeBatch
) -> tuple[Rows, Buckets]:
    """The bucket of a judged row's cell; those of all cells within another row's reach."""
    if port == cells.anchor:
        return np.arange(len(batch)), home_cells(node, cells, port, batch)
    usable = np.ones(len(batch), np.bool_)
    spans = []
    for axis in cells.axes:
        at, is_somewhere = _positions(node, axis, port, batch)
        usable &= is_somewhere
        before, after = float(axis.before[port]), float(axis.after[port])
        # Wider by some units in the last place than the sums below can be off, and distances. A cell
        # number grows with its position, rounding or not, so that no cell of a candidate is missed.
        # Sums of whole numbers are not off.
        farthest = np.abs(at) + abs(before) + abs(after)
        is_exact = _is_whole(node, axis) & (farthest < _MOST_EXACT)
        rounded = 2 * _rounding(node, axis) * (abs(before) + abs(after))
        slack = np.where(is_exact, 0.0, 4 * np.spacing(farthest) + rounded)
        first = _cell_numbers(at - before - slack, axis)
        spans.append((first, _cell_numbers(at + after + slack, axis)))
    rows, homes = _copies(spans, cells.buckets)
    return with_strays(batch, rows, homes, usable, cells.buckets)


def _is_whole(node: MatwinBestmatch, axis: Axis) -> bool:
    """Whether positions and reach are whole numbers."""
    if axis.dimension is None:
        return True
    measure = Measure.of(node.dimensions[axis.dimension], node.left.schema, node.right.schema)
    return measure.scale == 0 and float(measure.eps or 0).is_integer()


def _rounding(node: MatwinBestmatch, axis: Axis) -> float:
    """How far distances along an axis may be off, relative to themselves."""
    if axis.dimension is None:
        return 0.0
    dimension = node.dimensions[axis.dimension]
    return Measure.of(dimension, node.left.schema, node.right.schema).rounding


def home_cells(node: MatwinBestmatch, cells: Cells, port: int, batch: ChangeBatch) -> Buckets:
    """The bucket of the cell that each row falls into."""
    usable = np.ones(len(batch), np.bool_)
    numbers = []
    for axis in cells.axes:
        at, is_somewhere = _positions(node, axis, port, batch)
        usable &= is_somewhere
        numbers.append(_cell_numbers(at, axis))
    homes = spread(_cell_words(numbers), cells.buckets)
    return np.where(usable, homes, stray_homes(batch.times, cells.buckets))


def _positions(
    node: MatwinBestmatch, axis: Axis, port: int, batch: ChangeBatch
) -> tuple[NDArray[np.float64], Flags]:
    """Where the rows are along an axis, and which are somewhere."""
    if axis.dimension is None:
        return batch.times.astype(np.float64), np.ones(len(batch), np.bool_)
    dimension = node.dimensions[axis.dimension]
    measure = Measure.of(dimension, node.left.schema, node.right.schema)
    values, has_value = measure.values(batch, port)
    positions: NDArray[np.float64]
    if measure.scale is None:
        positions = values.view(np.float64).copy()
    else:
        positions = (values ^ _SIGN_BIT).view(np.int64) / 10.0**measure.scale
    if has_value is not None:
        positions[~has_value] = np.nan
    usable = np.isfinite(positions)
    return np.clip(np.where(usable, positions, 0.0), -_FARTHEST, _FARTHEST), usable


def _cell_numbers(positions: NDArray[np.float64], axis: Axis) -> NDArray[np.int64]:
    with np.errstate(over="ignore"):  # an infinite quotient is clipped like any other
        numbers = np.floor(positions / float(axis.width))
    return np.clip(numbers, -_FARTHEST_CELL, _FARTHEST_CELL).astype(np.int64)


def _cell_words(numbers: Sequence[NDArray[np.int64]]) -> Words:
    """One word for the numbers of a cell along all axes."""
    words = numbers[0].view(np.uint64)
    for along in numbers[1:]:
        words = mixed_words(words) + along.view(np.uint64)
    return words


def _copies(
    spans: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], buckets: int
) -> tuple[Rows, Buckets]:
    """Each row with the buckets of the cells that its spans make, every bucket once.

    2 cells by 3:   step   0  1  2  3  4  5
                    first  0  0  0  1  1  1      the last axis varies fastest
                    second 0  1  2  0  1  2
    """
    # A row that reaches more cells than there are buckets is given all of them.
    # (A span that the bounds leave empty still has one cell, where the row is counted.)
    lengths = [np.clip(last - first, 0, buckets) + 1 for first, last in spans]
    cells = np.prod(lengths, axis=0)
    everywhere = cells > buckets
    counts = np.where(everywhere, buckets, cells)
    rows = np.repeat(np.arange(len(cells)), counts)
    step = counted(counts)
    numbers: list[NDArray[np.int64]] = []
    rest = step
    for (first, _), length in zip(reversed(spans), reversed(lengths), strict=True):
        numbers.insert(0, first[rows] + rest % length[rows])
        rest = rest // length[rows]
    hashed = spread(_cell_words(numbers), buckets)
    homes = np.where(everywhere[rows], step, hashed)
    pairs = np.unique(rows * buckets + homes)
    return pairs // buckets, (pairs % buckets).astype(np.int32)


def route(
    node: PhysicalNode, partitioning: Partitioning, port: int, batch: ChangeBatch, buckets: int
) -> tuple[Rows, Buckets]:
    """Rows of a batch, and the bucket of each; a row that is copied appears once per bucket.

    Every row appears at least once. A row without an event time goes to bucket 0.

    There must be as many buckets as the partitioning uses, or more.
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
        if partitioning.otherwise:
            others = [batch.columns.column(name) for name in partitioning.otherwise]
            keys = [pc.coalesce(*both) for both in zip(keys, others, strict=True)]
        homes = spread(key_words(keys, nulls_match=True).words, partitioning.buckets)
        return _timed(batch, *_with_marks(node, batch, homes, partitioning.buckets))
    if isinstance(partitioning, HashShares):
        assert isinstance(node, MultiJoin | TwoStreamJoin)
        return _timed(batch, *_by_shares(node, partitioning, port, batch))
    if isinstance(partitioning, Slices):
        return _timed(batch, *_by_slices(partitioning, port, batch.times))
    assert isinstance(node, MatwinBestmatch)
    return _timed(batch, *by_cells(node, partitioning, port, batch))


def _with_marks(
    node: PhysicalNode, batch: ChangeBatch, homes: Buckets, buckets: int
) -> tuple[Rows, Buckets]:
    """Rows in their homes; in every bucket those that tell all groups of results that may miss."""
    rows = np.arange(len(batch))
    if not node.estimates:
        return rows, homes
    marks = is_mark(batch.columns)
    counts = np.where(marks, buckets, 1)
    rows = np.repeat(rows, counts)
    step = counted(counts)
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
    node: MultiJoin | TwoStreamJoin, shares: HashShares, port: int, batch: ChangeBatch
) -> tuple[Rows, Buckets]:
    """The one bucket of rows that have a key in every dimension; else all along the others.

    bucket = (coordinate[0] * shares[1] + coordinate[1]) * shares[2] + ...
    """
    homes = np.zeros((len(batch), 1), np.int32)  # one column per copy
    can_match = np.ones(len(batch), np.bool_)
    for group, share in zip(shares.classes, shares.shares, strict=True):
        columns = [node.classes[key].columns[port] for key in group]
        if columns[0] is None:  # all classes of a dimension are over the same inputs
            along = np.arange(share, dtype=np.int32)
            homes = (homes[:, :, None] * np.int32(share) + along).reshape(len(batch), -1)
            continue
        keys = [batch.columns.column(name) for name in columns]
        own = spread(key_words(keys, nulls_match=True).words, share)
        homes = homes * np.int32(share) + own[:, None]
        can_match &= can_equal(len(batch), keys, [node.classes[key].null_safe for key in group])
    rows = np.repeat(np.arange(len(batch)), homes.shape[1])
    return with_strays(batch, rows, homes.reshape(-1), can_match, shares.buckets)


def _by_slices(slices: Slices, port: int, times: Rows) -> tuple[Rows, Buckets]:
    """The bucket of an anchor row's slice; those of all slices that another row can reach."""
    if port == slices.anchor:
        homes = (times // slices.width) % slices.buckets
        return np.arange(len(times)), homes.astype(np.int32)
    first = moved(times, -slices.before[port]) // slices.width
    last = moved(times, slices.after[port]) // slices.width
    # Neighboring slices are in different buckets: as many of them as there are buckets are all.
    # (A period that the bounds leave empty still has one home, where the row is counted.)
    counts = np.clip(last - first + 1, 1, slices.buckets)
    rows = np.repeat(np.arange(len(times)), counts)
    step = counted(counts)
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


Own: TypeAlias = OwnSlices | OwnCells


def own_rows(node: PhysicalNode, partitioning: Partitioning, bucket: int) -> Own | None:
    """What a bucket answers for; None where it answers for all that it finds."""
    if isinstance(partitioning, Slices) and partitioning.anchor is None:
        return OwnSlices(partitioning, bucket)
    if isinstance(partitioning, Cells) and partitioning.anchor is None:
        assert isinstance(node, MatwinBestmatch)
        return OwnCells(node, partitioning, bucket)
    return None
