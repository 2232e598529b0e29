"""Rows to the cells of a grid: bestmatch joins without an equality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.operators.bestmatch.distances import Measure
from windrow.operators.columns.changes import ChangeBatch, counted
from windrow.operators.columns.key_columns import Words, mixed_words
from windrow.operators.routing.partition import (
    Buckets,
    Flags,
    Rows,
    spread,
    stray_homes,
    with_strays,
)
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.partitioning.buckets import Axis, Cells

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
