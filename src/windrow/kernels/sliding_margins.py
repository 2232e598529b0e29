"""How far estimated totals and averages may be off, for every version of every group, in one pass.

A combination is linked to one sum per set of its draws (docs/design/shedding.md has the formulas):

    combination            draws of inputs 0, 1      sums that it is part of
    c, weight w            d, e                      {d}: w sqrt(q)      {e}: w sqrt(q')
                                                     {d, e}: w sqrt(q q'), its own alone

The variance of a group's total is the sum of the squares of these sums, some taken away; when a
combination comes or goes, each of its sums s becomes s + x, and the variance changes by
x (2 s + x). Each argument column has two sums, of its weights and of its weighted values, and a
group three squares: weights with weights, weights with values, values with values. From these the
variance of COUNT, of SUM, and of AVG, as the total of value - average, are read at each version.

All are pairs of doubles, high + low, with twice the digits of one; high is the value.

    high   53 bits                    the double nearest to the pair
    low            53 bits            what that leaves out, at most half a unit of its last bit

What is added and taken away again leaves a trace about 2^-106 of the greatest sum on the way: none
that a double shows, unless sums have swung by 2^50 in between. All of it is IEEE arithmetic
(Dekker, Knuth): right as long as nothing overflows or underflows, and never reordered by the
compiler.

What is read is rounded to 20 bits, and is 0 where it is far below what it once was, a trace of what
has gone. So margins do not depend on what came and went before, and a query that was stopped goes
on with the same ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel, kernel_part
from windrow.kernels.versions import Versions

_SPLITTER = float(2**27 + 1)

Pair = tuple[float, float]


@kernel
def exact_sum_of(a: float, b: float) -> Pair:
    """The sum, without error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@kernel
def exact_product_of(a: float, b: float) -> Pair:
    """The product, without error: both are split into halves, whose products are exact."""
    product = a * b
    shifted = _SPLITTER * a
    a_high = shifted - (shifted - a)
    a_low = a - a_high
    shifted = _SPLITTER * b
    b_high = shifted - (shifted - b)
    b_low = b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


@kernel
def sum_of(a: Pair, b: Pair) -> Pair:
    """The sum of two pairs."""
    high, rest = exact_sum_of(a[0], b[0])
    low, last = exact_sum_of(a[1], b[1])
    rest += low
    total = high + rest
    rest = (rest - (total - high)) + last
    result = total + rest
    return result, rest - (result - total)


@kernel
def times(a: Pair, factor: float) -> Pair:
    """A pair times a number."""
    high, low = exact_product_of(a[0], factor)
    low += a[1] * factor
    total = high + low
    return total, low - (total - high)


@kernel
def rounded(value: float) -> float:
    """The value to 20 bits: pairs that differ by a trace are then the same number."""
    shifted = value * 8589934593.0  # 2^33 + 1
    return shifted - (shifted - value)


Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

OWN, NONE = -1, -2
"""In place of an entry: the sum is the combination's alone; there is no such sum."""

COUNT, SUM, AVERAGE = 0, 1, 2
"""Columns of the margins."""

_LEAST_PART = 2.0**-72
"""A variance that is so small beside the squares that it comes from, now or before, is none."""

WEIGHTS, CROSSED, VALUES, MOST_WEIGHTS, MOST_VALUES = 0, 2, 4, 6, 7
"""Where the squares begin, and the most that two of them ever were."""
SQUARES = 8

_Z95 = 1.959963984540054
"""A normal variable is within so many deviations of its mean in 95% of all cases."""

_FREEDOM = 0.5
"""Degrees of freedom per draw: the chance is known by as many draws as what was drawn is."""

_LEAST_FREEDOM = 3.0
"""The expansion of Student's quantile is good from here on."""


class Layout(NamedTuple):
    """What there is to keep.

    Attributes:
        inputs: per set of inputs, its only one; -1 for a larger set.
        signs: per set, 1 where its squares add to the variance, -1 where they are taken away.
        asked: per argument, whether COUNT, SUM and AVG are asked for.
    """

    inputs: Int64s
    signs: Floats
    asked: NDArray[np.bool_]


class Rows(NamedTuple):
    """The combinations that come and go.

    Attributes:
        entries: per row and set, the sum that it is part of; OWN or NONE.
        factors: per row and set, its weight times the root of the set's q.
        present: per row and argument, 1 where it is counted, 0 where it is NULL.
        values: per row and argument, the value; 0 where it is NULL or out of range.
        is_out: per row and argument, whether its value is beyond what can be squared.
    """

    entries: Int64s
    factors: Floats
    present: Floats
    values: Floats
    is_out: NDArray[np.bool_]


class Sums(NamedTuple):
    """What is kept.

    Attributes:
        rows: per entry, the rows that are part of it.
        of_entry: per entry and argument, the sums of weights and of weighted values, as pairs.
        squares: per slot, input (the last one: all larger sets) and argument, the three squares as
            pairs, and the most that the first and the last of them ever were.
        draws: per slot and input, how many different draws are there.
        out: per slot and argument, how many values are out of range.
        has_shed: per slot, whether a combination ever had a chance below 1.
    """

    rows: Int64s
    of_entry: Floats
    squares: Floats
    draws: Int64s
    out: Int64s
    has_shed: NDArray[np.bool_]


class Margins(NamedTuple):
    """Per version: half the width of each interval, and what is known of the group.

    Attributes:
        totals: per argument, of COUNT, of SUM, and of AVG times the count; NaN: cannot be told.
        is_certain: whether no combination had a chance below 1.
        has_shed: whether one ever had.
    """

    totals: Floats
    is_certain: NDArray[np.bool_]
    has_shed: NDArray[np.bool_]


@kernel
def slide_margins(
    versions: Versions, rows: Rows, layout: Layout, averages: Floats, sums: Sums
) -> Margins:
    """The margins of every version; `averages` has one entry per version and argument."""
    total, arguments = averages.shape
    totals = np.zeros((total, arguments, 3))
    is_certain = np.ones(total, np.bool_)
    has_shed = np.zeros(total, np.bool_)
    for version in range(total):
        slot = versions.slots[version]
        for event in range(versions.first_event[version], versions.first_event[version + 1]):
            _apply(
                rows, layout, versions.event_rows[event], slot, versions.event_signs[event], sums
            )
        has_shed[version] = sums.has_shed[slot]
        if sums.draws[slot].max() == 0:
            sums.squares[slot] = 0.0
            continue
        is_certain[version] = False
        for argument in range(arguments):
            if layout.asked[argument, COUNT]:
                totals[version, argument, COUNT] = _margin(sums, slot, argument, 1.0, 0.0, 0.0)
            if sums.out[slot, argument] > 0:
                totals[version, argument, SUM] = totals[version, argument, AVERAGE] = math.nan
                continue
            if layout.asked[argument, SUM]:
                totals[version, argument, SUM] = _margin(sums, slot, argument, 0.0, 1.0, 0.0)
            if layout.asked[argument, AVERAGE]:
                average = averages[version, argument]
                totals[version, argument, AVERAGE] = _margin(
                    sums, slot, argument, -average, 1.0, 1.0
                )
    return Margins(totals, is_certain, has_shed)


@kernel
def enter_rows(slots: Int64s, rows: Rows, layout: Layout, sums: Sums) -> None:
    """Takes in rows that are alive already."""
    for row in range(len(slots)):
        _apply(rows, layout, row, slots[row], 1, sums)


@kernel_part
def _apply(rows: Rows, layout: Layout, row: int, slot: int, sign: int, sums: Sums) -> None:
    """Adds a row to its sums, or takes it away, and the change of their squares to the group's."""
    last = sums.squares.shape[1] - 1
    for argument in range(rows.is_out.shape[1]):
        if rows.is_out[row, argument]:
            sums.out[slot, argument] += sign
    for at in range(len(layout.inputs)):
        entry, source = rows.entries[row, at], layout.inputs[at]
        if entry == NONE:
            continue
        sums.has_shed[slot] = True
        place = source if source >= 0 else last
        if entry >= 0:
            if source >= 0 and sums.rows[entry] == 0:
                sums.draws[slot, source] += 1
            sums.rows[entry] += sign
        for argument in range(rows.values.shape[1]):
            factor = sign * rows.factors[row, at]
            weight = factor * rows.present[row, argument]
            value = factor * rows.values[row, argument]
            if layout.asked[argument, SUM] or layout.asked[argument, AVERAGE]:
                _change(sums, entry, (slot, place, argument), weight, value, layout.signs[at])
            else:
                _count(sums, entry, (slot, place, argument), weight, layout.signs[at])
        if entry >= 0 and sums.rows[entry] == 0:
            sums.of_entry[entry] = 0.0
            if source >= 0:
                sums.draws[slot, source] -= 1


@kernel_part
def _count(sums: Sums, entry: int, at: tuple[int, int, int], weight: float, sign: float) -> None:
    """As `_change` of a column whose values are not added."""
    slot, place, argument = at
    if entry >= 0:
        before = (sums.of_entry[entry, argument, 0], sums.of_entry[entry, argument, 1])
        after = sum_of(before, (weight, 0.0))
        sums.of_entry[entry, argument, 0], sums.of_entry[entry, argument, 1] = after
    else:
        before, after = (max(-weight, 0.0), 0.0), (max(weight, 0.0), 0.0)
    _add(sums.squares, at, WEIGHTS, times(sum_of(before, after), weight * sign))
    most = max(
        sums.squares[slot, place, argument, MOST_WEIGHTS],
        abs(sums.squares[slot, place, argument, WEIGHTS]),
    )
    sums.squares[slot, place, argument, MOST_WEIGHTS] = most


@kernel_part
def _change(
    sums: Sums, entry: int, at: tuple[int, int, int], weight: float, value: float, sign: float
) -> None:
    """One sum of weights, and one of values, become others: their squares with them.

    With dw and dy added to w and y, which gives w' and y', w w changes by dw (w + w'), w y by
    dw y' + w dy, and y y by dy (y + y').
    """
    slot, place, argument = at
    if entry >= 0:
        kept = sums.of_entry
        weight_before = (kept[entry, argument, 0], kept[entry, argument, 1])
        value_before = (kept[entry, argument, 2], kept[entry, argument, 3])
        weight_after = sum_of(weight_before, (weight, 0.0))
        value_after = sum_of(value_before, (value, 0.0))
        kept[entry, argument, 0], kept[entry, argument, 1] = weight_after
        kept[entry, argument, 2], kept[entry, argument, 3] = value_after
    elif weight > 0:
        weight_before, value_before = (0.0, 0.0), (0.0, 0.0)
        weight_after, value_after = (weight, 0.0), (value, 0.0)
    else:  # it goes: what it was, becomes nothing
        weight_before, value_before = (-weight, 0.0), (-value, 0.0)
        weight_after, value_after = (0.0, 0.0), (0.0, 0.0)
    _add(sums.squares, at, WEIGHTS, times(sum_of(weight_before, weight_after), weight * sign))
    crossed = sum_of(times(value_after, weight), times(weight_before, value))
    _add(sums.squares, at, CROSSED, times(crossed, sign))
    _add(sums.squares, at, VALUES, times(sum_of(value_before, value_after), value * sign))
    for which, most in ((WEIGHTS, MOST_WEIGHTS), (VALUES, MOST_VALUES)):
        now = abs(sums.squares[slot, place, argument, which])
        sums.squares[slot, place, argument, most] = max(
            sums.squares[slot, place, argument, most], now
        )


@kernel_part
def _add(squares: Floats, at: tuple[int, int, int], which: int, change: Pair) -> None:
    slot, place, argument = at
    before = (squares[slot, place, argument, which], squares[slot, place, argument, which + 1])
    after = sum_of(before, change)
    squares[slot, place, argument, which] = after[0]
    squares[slot, place, argument, which + 1] = after[1]


@kernel
def _margin(
    sums: Sums, slot: int, argument: int, weights: float, values: float, estimated: float
) -> float:
    """Half the width of the interval of the total of weights * 1 + values * value.

    Student's quantile, with as many degrees of freedom as draws allow: half of those of each input,
    less one, by the part of the variance that comes from the input (Satterthwaite). `estimated`: how
    many of the factors are estimates from the same draws, from which these are less far than from
    the truth.
    """
    total, size = (0.0, 0.0), 0.0
    single = spread = 0.0
    inputs = sums.draws.shape[1]
    for place in range(inputs + 1):
        part, part_size = _form(sums.squares[slot, place, argument], weights, values)
        total = sum_of(total, part)
        size += part_size
        if place < inputs:
            known = rounded(part[0]) if part[0] > _LEAST_PART * part_size else 0.0
            single += known
            spread += known * known / (_FREEDOM * max(sums.draws[slot, place] - 1, 1))
    # With values of either sign the estimate may be below nothing; the variance is not.
    if total[0] <= _LEAST_PART * size:
        return 0.0
    freedom = max(single * single / spread if spread > 0 else math.inf, _LEAST_FREEDOM)
    return _quantile(freedom) * math.sqrt(rounded(total[0]) * (1 + estimated / freedom))


@kernel
def _form(squares: Floats, weights: float, values: float) -> tuple[Pair, float]:
    """The square of weights * w + values * y, and the size that its terms have had at most."""
    of_weights = times(times((squares[WEIGHTS], squares[WEIGHTS + 1]), weights), weights)
    crossed = times(times((squares[CROSSED], squares[CROSSED + 1]), 2.0 * weights), values)
    of_values = times(times((squares[VALUES], squares[VALUES + 1]), values), values)
    size = squares[MOST_WEIGHTS] * weights * weights + squares[MOST_VALUES] * values * values
    return sum_of(sum_of(of_weights, crossed), of_values), size


@kernel
def _quantile(freedom: float) -> float:
    """Student's for 95%, by the first terms of its expansion around the normal one."""
    first = (_Z95**3 + _Z95) / 4
    second = (5 * _Z95**5 + 16 * _Z95**3 + 3 * _Z95) / 96
    return _Z95 + first / freedom + second / freedom**2
