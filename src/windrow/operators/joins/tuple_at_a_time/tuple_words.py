"""The words of tuples that are no keys: what structures are kept by, and what sweeps compare.

**Structures** of an asymmetric join are kept and probed by words. By an equality, that is the word
of its key class, which every tuple has anyhow. By bands a tuple has three more words, ordered
64-bit numbers (`total_order.py`):

    key        of its own column
    low, high  the range of the other stream's keys that the bands allow

    low <= left - right <= high      a left tuple asks for right keys  [left - high, left - low]
                                     a right one for left keys         [right + low, right + high]

A range may be too wide by a rounding error, never too narrow: what is found is tested as ever. NULL
asks for nothing. NaN is above all numbers where columns are compared. Where they are taken from
each other its difference to anything is NaN, above every limit: it meets nothing, or everything.

    left - right >= low      a left tuple asks downward, and finds a right NaN at the very bottom
                             a right one asks upward, and finds a left NaN at the top
                             NaN itself asks for all

**A sweep** compares tuples by words as it meets them. A comparison of two inputs has one column of
words, in which each has its own side:

    a.x < b.x + 5        words of a: rank(x) + 1        a must not be above b
                         words of b: rank(x + 5)

Here words are ranks moved so that they are in order as numbers without a sign; `<` is `<=` of the
next rank. A sum that takes more than 64 bits is the last rank there is, and NULL is where next to
nothing passes: a word may let through what is false, never keep out what is true. What comes out is
tested once more, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.key_columns import fixed_values
from windrow.operators.columns.total_order import (
    Ranks,
    numbers_of,
    ranked_sides,
    ranks_of,
    real_ranks,
    valid_rows,
)
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.probe_orders import OrderedPair, ordered_pairs
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
    if not node.is_in_structures or node.classes:
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
    # The lower half of a decimal of 128 bits; the planner takes those that fit in it.
    units, _ = _halves(column)
    return np.where(valid_rows(column), units, 0) * np.int64(10 ** (scale - column.type.scale))


def _halves(column: pa.Array) -> tuple[Ranks, Ranks]:
    """The lower and the higher 64 bits of decimals of 128."""
    halves = fixed_values(column, "<i8")
    return halves[::2], halves[1::2]


def compared_pairs(node: MultiJoin) -> tuple[OrderedPair, ...]:
    """The comparisons that the loops of a join test."""
    return tuple(ordered_pairs(node)) if node.chosen.compares else ()


def comparison_words(pairs: Sequence[OrderedPair], port: int, rows: ChangeBatch) -> Words:
    """Per row of an input, its word in each comparison; 0 in those that it has no side in."""
    words = np.zeros((len(rows), len(pairs)), np.uint64)
    for at, pair in enumerate(pairs):
        if port in (pair.lesser[0], pair.greater[0]):
            words[:, at] = _comparison_words(pair, rows, is_lesser=port == pair.lesser[0])
    return words


def _comparison_words(pair: OrderedPair, rows: ChangeBatch, *, is_lesser: bool) -> Words:
    side = (pair.lesser if is_lesser else pair.greater)[1]
    ranked = next(one for one in ranked_sides(pair.comparison) if one.side == side)
    column = rows.columns.column(side.column)
    next_rank = 1 if is_lesser and pair.is_strict else 0
    ranks = ranks_of(column, ranked)
    if ranks is None:
        # One sum, not two: what is below all ranks by more than one stays below them.
        whole = numbers_of(column).astype(np.int64)
        ranks = saturated_sum(whole, int(side.shift) + next_rank)
    elif next_rank:
        ranks = saturated_sum(ranks, next_rank)
    if column.null_count:
        ranks = np.where(valid_rows(column), ranks, MAX_TICK if is_lesser else MIN_TICK)
    found: Words = ranks.view(np.uint64) ^ np.uint64(1 << 63)
    return found
