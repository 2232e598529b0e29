"""The words by which the structures of an asymmetric join are kept and probed.

By an equality, that is the word of its key class, which every tuple has anyhow. By bands a tuple
has three more words, ordered 64-bit numbers (`ranks.py`):

    key        of its own column
    low, high  the range of the other stream's keys that the bands allow

    low <= left - right <= high      a left tuple asks for right keys  [left - high, left - low]
                                     a right one for left keys         [right + low, right + high]

A range may be too wide by a rounding error, never too narrow: what is found is tested as ever.
NULL asks for nothing. NaN is above all numbers where columns are compared. Where they are taken from
each other its difference to anything is NaN, above every limit: it meets nothing, or everything.

    left - right >= low      a left tuple asks downward, and finds a right NaN at the very bottom
                             a right one asks upward, and finds a left NaN at the top
                             NaN itself asks for all
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.ranks import Ranks, numbers_of, real_ranks, valid_rows
from windrow.physical.algorithms import ASYMMETRIC
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.structures import Served, served_range
from windrow.plan.exprs import ALWAYS, NEVER, Band
from windrow.schema import MAX_TICK, MIN_TICK

Words = NDArray[np.uint64]
Reals = NDArray[np.float64]

KEY, LOW, HIGH = range(3)
_MARGIN = 8.0
"""Roundings that a bound is widened by; fewer sums than that take part in it."""


def range_of(node: MultiJoin) -> Served | None:
    """The bands that a join's structures are probed by; None where it is something else."""
    if node.algorithm != ASYMMETRIC or node.classes:
        return None
    return served_range(node)


def range_words(served: Served, port: int, rows: ChangeBatch) -> Words:
    """Per row of an input, its key and the range of keys that it asks for."""
    band = served.bands[0]
    column = rows.columns.column(band.left if port == 0 else band.right)
    words = np.empty((len(rows), 3), np.int64)
    if band.rounding is None:
        _whole_words(words, _whole_numbers(column, band.scale), served, port)
    else:
        _real_words(words, _reals(column), served, port)
    if column.null_count:
        words[~valid_rows(column)] = MIN_TICK, 1, 0
    found: Words = words.view(np.uint64)
    return found


def _whole_words(words: Ranks, numbers: Ranks, served: Served, port: int) -> None:
    words[:, KEY] = numbers
    words[:, LOW], words[:, HIGH] = MIN_TICK, MAX_TICK
    for band in served.bands:
        low, high = _ends(band, port)
        if low is not None:
            np.maximum(words[:, LOW], saturated_sum(numbers, int(low)), out=words[:, LOW])
        if high is not None:
            np.minimum(words[:, HIGH], saturated_sum(numbers, int(high)), out=words[:, HIGH])


def _real_words(words: Ranks, numbers: Reals, served: Served, port: int) -> None:
    words[:, KEY] = real_ranks(numbers)
    words[:, LOW], words[:, HIGH] = MIN_TICK, MAX_TICK
    is_nan = np.isnan(numbers)
    for band in served.bands:
        low, high = _ends(band, port)
        if low is not None:
            bound = real_ranks(_widened(numbers, low, band, -np.inf))
            if band.nan == ALWAYS:
                bound[is_nan] = MIN_TICK
            np.maximum(words[:, LOW], bound, out=words[:, LOW])
        if high is not None:
            bound = real_ranks(_widened(numbers, high, band, np.inf))
            np.minimum(words[:, HIGH], bound, out=words[:, HIGH])
        if (
            band.nan == ALWAYS and low is not None
        ):  # the other tuples ask this one's stream downward
            words[is_nan, KEY] = MIN_TICK
    if any(band.nan == NEVER for band in served.bands):
        words[is_nan, LOW:] = 1, 0


def _ends(band: Band, port: int) -> tuple[int | float | None, int | float | None]:
    """What the other column may be above this one, at least and at most."""
    own = band if port == 1 else band.turned
    return own.low, own.high


def saturated_sum(numbers: Ranks, distance: int) -> Ranks:
    """Numbers plus a distance; beyond 64 bits the last number there is."""
    end = MAX_TICK if distance > 0 else MIN_TICK
    last = end - distance  # the last number that the distance can be added to
    if (distance > 0 and last <= MIN_TICK) or (distance < 0 and last >= MAX_TICK):
        return np.full(len(numbers), end)
    fits = numbers <= last if distance > 0 else numbers >= last
    # In two steps, for a distance may be beyond 64 bits itself.
    half = distance // 2
    added = np.where(fits, numbers, 0) + np.int64(half)
    return np.where(fits, added + np.int64(distance - half), end)


def _widened(numbers: Reals, distance: float, band: Band, outward: float) -> Reals:
    """Numbers plus a distance, moved outward by more than what roundings come to.

    A sum is off by its rounding, relative to its size; sizes are at most those of the number and
    of the constants. Infinities and NaN stay what they are.
    """
    assert band.rounding is not None
    with np.errstate(over="ignore", invalid="ignore"):
        bound = numbers + float(distance)
        off = _MARGIN * band.rounding * (np.abs(numbers) + band.constants + abs(distance))
        moved = np.nextafter(bound + np.copysign(off, outward), outward)
    return np.where(np.isfinite(bound) & np.isfinite(off), moved, _unmoved(bound, off, outward))


def _unmoved(bound: Reals, off: Reals, outward: float) -> Reals:
    """Bounds that are no finite numbers; one whose error is infinite reaches to the end."""
    return np.where(np.isfinite(off) | ~np.isfinite(bound), bound, outward)


def _reals(column: pa.Array) -> Reals:
    """A column of numbers as doubles; decimals within a few roundings."""
    if not pa.types.is_decimal(column.type):
        return numbers_of(column).astype(np.float64)
    if not len(column):
        return np.zeros(0)
    low, high = _halves(column)
    # Of the size, not of the number: halves of two's complement would cancel out.
    is_negative = high < 0
    low = np.where(is_negative, ~low, low).view(np.uint64)
    high = np.where(is_negative, ~high, high)
    size = (high.astype(np.float64) * 2.0**64 + low.astype(np.float64)) + is_negative
    units: Reals = np.where(is_negative, -size, size)
    numbers: Reals = units / 10.0**column.type.scale
    return numbers


def _whole_numbers(column: pa.Array, scale: int) -> Ranks:
    """A column of whole numbers, times, or decimals in units of a scale."""
    if not pa.types.is_decimal(column.type):
        return numbers_of(column).astype(np.int64)
    if not len(column):
        return np.zeros(0, np.int64)
    # The lower half of a decimal of 128 bits; the planner takes those that fit in it.
    units, _ = _halves(column)
    return np.where(_valid(column), units, 0) * np.int64(10 ** (scale - column.type.scale))


def _halves(column: pa.Array) -> tuple[Ranks, Ranks]:
    """The lower and the higher 64 bits of decimals of 128."""
    halves = np.frombuffer(column.buffers()[1], np.int64)
    own = halves[2 * column.offset : 2 * (column.offset + len(column))]
    return own[0::2], own[1::2]


def _valid(column: pa.Array) -> NDArray[np.bool_]:
    return valid_rows(column) if column.null_count else np.ones(len(column), np.bool_)
