"""Counts, sums and means of every version of every group, in one pass over the events.

Contract of all `slide_*` kernels: `versions` as `versions_of` gives them; one value per row (coming
rows first), and how it counts (`Counting`); `counts[slot]`, and `limbs[slot]` where there is a sum, are
the accumulators as the last call left them, and are left as the last version has them. Results have
one entry per version. Sums of no value are 0 there: the caller shows NULL where the count is 0.

A version costs its events plus, where there is a sum, one pass over a row of limbs. Rows are applied
and taken back exactly (`exact_sum`), so no version depends on how the input was cut.

Each kernel writes its walk over the events out: by a generator it takes several times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.exact_sum import (
    FRACTION,
    Digits,
    Limbs,
    add_decimal,
    add_double,
    add_integer,
    divide_digits,
    magnitude,
    read_decimal,
    read_double,
    read_integer,
    read_mean,
    scale_digits,
    settle,
)
from windrow.kernels.jit import kernel
from windrow.kernels.versions import Versions

FINITE, NANS, INFINITIES, MINUS_INFINITIES = 0, 1, 2, 3
"""Columns of the counts of doubles: values that are no number are counted, never added."""

Weights = NDArray[np.bool_] | NDArray[np.int32]
"""How many values each row counts for."""


class Counting(NamedTuple):
    """Which rows have a value, and how many values each counts for.

    The two are one array where each row is a value or NULL; merged rows stand for several.
    """

    valid: NDArray[np.bool_]
    weights: Weights


class DoubleResults(NamedTuple):
    """Per version: values that are not NULL, their sum, their mean. Empty: not asked for."""

    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    means: NDArray[np.float64]


class IntegerResults(NamedTuple):
    """As for doubles; `fits` is False where a sum is beyond an int64."""

    counts: NDArray[np.int64]
    sums: NDArray[np.int64]
    means: NDArray[np.float64]
    fits: NDArray[np.bool_]


class DecimalResults(NamedTuple):
    """As for integers; a sum or mean is two words, low and high."""

    counts: NDArray[np.int64]
    sums: NDArray[np.int64]
    means: NDArray[np.int64]
    sums_fit: NDArray[np.bool_]
    means_fit: NDArray[np.bool_]


class WantedResults(NamedTuple):
    """Which results are wanted."""

    sum: bool
    mean: bool


@kernel
def slide_counts(
    versions: Versions, weights: Weights, counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many values each version has."""
    total = len(versions.slots)
    results = np.empty(total, np.int64)
    for version in range(total):
        slot = versions.slots[version]
        for event in range(versions.first_event[version], versions.first_event[version + 1]):
            weight = np.int64(weights[versions.event_rows[event]])
            counts[slot] += versions.event_signs[event] * weight
        results[version] = counts[slot]
    return results


@kernel
def slide_integers(
    versions: Versions,
    values: NDArray[np.int64],
    counting: Counting,
    counts: NDArray[np.int64],
    limbs: Limbs,
    asked: WantedResults,
) -> IntegerResults:
    """Counts, sums and means of integers; limbs as `exact_sum` lays out integers."""
    total = len(versions.slots)
    count_of = np.empty(total, np.int64)
    sum_of = np.empty(total if asked.sum else 0, np.int64)
    mean_of = np.empty(total if asked.mean else 0, np.float64)
    digits = np.empty(FRACTION + limbs.shape[1] + 1, np.uint64)
    fits_of = np.ones(len(sum_of), np.bool_)
    for version in range(total):
        slot = versions.slots[version]
        for event in range(versions.first_event[version], versions.first_event[version + 1]):
            row = versions.event_rows[event]
            if counting.valid[row]:
                sign = np.int64(versions.event_signs[event])
                add_integer(limbs, slot, values[row], sign)
                counts[slot] += sign * np.int64(counting.weights[row])
        settle(limbs, slot)
        count_of[version] = counts[slot]
        if asked.sum:
            value, fits = read_integer(limbs, slot)
            sum_of[version] = value
            fits_of[version] = fits
        if asked.mean:
            mean_of[version] = (
                read_mean(limbs, slot, 0, counts[slot], digits) if counts[slot] > 0 else 0.0
            )
    return IntegerResults(count_of, sum_of, mean_of, fits_of)


@kernel
def slide_doubles(
    versions: Versions,
    values: NDArray[np.float64],
    counting: Counting,
    counts: NDArray[np.int64],
    limbs: Limbs,
    first: int,
    asked: WantedResults,
) -> DoubleResults:
    """Counts, sums and means of doubles; limb 0 begins `first` bits above 2^-1074."""
    total = len(versions.slots)
    count_of = np.empty(total, np.int64)
    sum_of = np.empty(total if asked.sum else 0, np.float64)
    mean_of = np.empty(total if asked.mean else 0, np.float64)
    digits = np.empty(FRACTION + limbs.shape[1] + 1, np.uint64)
    bits = values.view(np.int64)
    unit = first - 1074
    for version in range(total):
        slot = versions.slots[version]
        for event in range(versions.first_event[version], versions.first_event[version + 1]):
            row = versions.event_rows[event]
            if counting.valid[row]:
                sign = np.int64(versions.event_signs[event])
                kind = kind_of(values[row])
                counts[slot, kind] += sign * np.int64(counting.weights[row])
                if kind == FINITE:
                    add_double(limbs, slot, bits[row], first, sign)
        settle(limbs, slot)
        count = counts[slot, 0] + counts[slot, 1] + counts[slot, 2] + counts[slot, 3]
        count_of[version] = count
        if count != counts[slot, FINITE]:
            special = _not_finite(counts, slot)
            if asked.sum:
                sum_of[version] = special
            if asked.mean:
                mean_of[version] = special
            continue
        if asked.sum:
            sum_of[version] = read_double(limbs, slot, unit, digits)
        if asked.mean:
            mean_of[version] = read_mean(limbs, slot, unit, count, digits) if count > 0 else 0.0
    return DoubleResults(count_of, sum_of, mean_of)


@kernel
def kind_of(value: float) -> int:
    """Which of the counts a double belongs to."""
    if value != value:  # noqa: PLR0124 - NaN alone differs from itself
        return NANS
    if value == np.inf:
        return INFINITIES
    if value == -np.inf:
        return MINUS_INFINITIES
    return FINITE


@kernel
def _not_finite(counts: NDArray[np.int64], slot: int) -> float:
    """The sum of values some of which are no finite number."""
    if counts[slot, NANS] > 0 or (counts[slot, INFINITIES] > 0 < counts[slot, MINUS_INFINITIES]):
        return np.nan
    return np.inf if counts[slot, INFINITIES] > 0 else -np.inf


class DecimalRules(NamedTuple):
    """How decimals are shown: 10^precision of sums and of means, and what means are scaled by."""

    sum_bound: Digits
    mean_bound: Digits
    mean_factor: int


@kernel
def slide_decimals(
    versions: Versions,
    words: NDArray[np.int64],
    counting: Counting,
    counts: NDArray[np.int64],
    limbs: Limbs,
    rules: DecimalRules,
    asked: WantedResults,
) -> DecimalResults:
    """Counts, sums and means of decimals, each two words, low and high; means round half up."""
    total = len(versions.slots)
    count_of = np.empty(total, np.int64)
    sum_of = np.zeros((total if asked.sum else 0, 2), np.int64)
    mean_of = np.zeros((total if asked.mean else 0, 2), np.int64)
    # One digit more than a magnitude has: means are scaled before they are divided.
    digits = np.empty(FRACTION + limbs.shape[1] + 2, np.uint64)
    sums_fit = np.ones(len(sum_of), np.bool_)
    means_fit = np.ones(len(mean_of), np.bool_)
    for version in range(total):
        slot = versions.slots[version]
        for event in range(versions.first_event[version], versions.first_event[version + 1]):
            row = versions.event_rows[event]
            if counting.valid[row]:
                sign = np.int64(versions.event_signs[event])
                add_decimal(limbs, slot, words[row, 0], words[row, 1], sign)
                counts[slot] += sign * np.int64(counting.weights[row])
        settle(limbs, slot)
        count_of[version] = counts[slot]
        if asked.sum:
            is_negative = magnitude(limbs, slot, digits)
            low, high, fits = read_decimal(digits, is_negative, rules.sum_bound)
            sum_of[version, 0], sum_of[version, 1] = low, high
            sums_fit[version] = fits
        if asked.mean and counts[slot] > 0:
            is_negative = magnitude(limbs, slot, digits)
            _mean_digits(digits, rules.mean_factor, counts[slot])
            low, high, fits = read_decimal(digits, is_negative, rules.mean_bound)
            mean_of[version, 0], mean_of[version, 1] = low, high
            means_fit[version] = fits
    return DecimalResults(count_of, sum_of, mean_of, sums_fit, means_fit)


@kernel
def _mean_digits(digits: Digits, factor: int, count: int) -> None:
    """Turns the digits of a sum into those of factor * sum / count, half rounded up."""
    scale_digits(digits, factor)
    rest = divide_digits(digits, FRACTION, count)
    carry = np.uint64(1 if 2 * rest >= count else 0)
    for k in range(FRACTION, len(digits)):
        total = digits[k] + carry
        digits[k] = total & np.uint64(0xFFFFFFFF)
        carry = total >> np.uint64(32)
