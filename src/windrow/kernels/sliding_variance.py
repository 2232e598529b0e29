"""Variances of every version of every group, from exact sums of values and of their squares.

With n values of sum S and sum of squares Q,

    VAR_POP  = (n Q - S^2) / n^2            VAR_SAMP = (n Q - S^2) / (n (n - 1))

The difference is what costs all digits in floating point (a small spread on a large offset). Here it
is one of whole numbers: S in limbs as `exact_sum` lays doubles out, Q in limbs of the squared unit,

    S   [ 0 | 1 | ... | w - 1 ]                     unit u
    Q   [ 0 | 1 | 2 | 3 | ... | 2 w - 1 | 2 w ]     unit u^2, the last one for carries

and the quotient is rounded once. It is not below 1 / n units where it is not 0 (every two values
that differ do so by a unit or more), so the FRACTION digits below the unit leave 64 bits to round.
A standard deviation is the root of a quotient that was brought near 1 first: squares of values that
a double holds may be beyond what it holds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.exact_sum import (
    FRACTION,
    LEAST_EXPONENT,
    MASK,
    Digits,
    Limbs,
    add_double,
    divide_digits,
    magnitude,
    round_to_double,
    settle,
)
from windrow.kernels.jit import kernel, lean_kernel
from windrow.kernels.sliding_aggregate import FINITE, kind_of
from windrow.kernels.versions import Versions

VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP = 0, 1, 2, 3
"""Columns of the results."""

Whole = int | np.int64


class Moments(NamedTuple):
    """Limbs of sums and of squares' sums; limb 0 of the former begins `first` bits above 2^-1074."""

    limbs: Limbs
    squares: Limbs
    first: int


@kernel
def slide_variances(
    versions: Versions,
    values: NDArray[np.float64],
    valid: NDArray[np.bool_],
    counts: NDArray[np.int64],
    sums: Moments,
    asked: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """How many values each version has, and what is asked for, by the columns above.

    `counts` has four columns as for sums of doubles. A value that is not finite makes the result
    NaN while it is there.
    """
    total = len(versions.slots)
    limbs, squares, first = sums.limbs, sums.squares, sums.first
    count_of = np.empty(total, np.int64)
    results = np.zeros((total, 4))
    root = np.zeros(FRACTION + limbs.shape[1] + 1, np.uint64)
    digits = np.zeros(FRACTION + squares.shape[1] + 4, np.uint64)
    quotient = np.zeros_like(digits)
    bits = values.view(np.int64)
    unit = 2 * (first + LEAST_EXPONENT)
    for version in range(total):
        slot = versions.slots[version]
        for event in range(versions.first_event[version], versions.first_event[version + 1]):
            row = versions.event_rows[event]
            if valid[row]:
                sign = np.int64(versions.event_signs[event])
                kind = kind_of(values[row])
                counts[slot, kind] += sign
                if kind == FINITE:
                    add_double(limbs, slot, bits[row], first, sign)
                    add_square(squares, slot, bits[row], first, sign)
        settle(limbs, slot)
        settle(squares, slot)
        count = counts[slot, 0] + counts[slot, 1] + counts[slot, 2] + counts[slot, 3]
        count_of[version] = count
        if count != counts[slot, FINITE]:
            results[version] = np.nan
        elif count > 1:
            spread(limbs, squares, slot, count, root, digits)
            for fewer in range(2):
                if asked[VAR_POP + fewer] or asked[STDDEV_POP + fewer]:
                    quotient[:] = digits
                    rest = divide_digits(quotient, 0, count)
                    rest |= divide_digits(quotient, 0, count - fewer)
                    if asked[VAR_POP + fewer]:
                        near = round_to_double(quotient, unit, rest != 0)
                        results[version, VAR_POP + fewer] = near
                    if asked[STDDEV_POP + fewer]:
                        results[version, STDDEV_POP + fewer] = _root(quotient, unit, rest != 0)
    return count_of, results


@lean_kernel
def add_square(squares: Limbs, row: Whole, bits: Whole, first: Whole, sign: Whole) -> None:
    """Adds sign * the square of a finite double; limb 0 begins at the squared unit.

    The mantissa is h 2^32 + l; its square has four digits, which are shifted over five limbs:

        h^2                  [ 42 bits ]
        2 h l                    [  54 bits  ]
        l^2                            [  64 bits  ]
    """
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & 0xFFFFFFFFFFFFF
    if exponent > 0:
        mantissa |= 0x10000000000000
        exponent -= 1
    if mantissa == 0:
        return
    place = 2 * (exponent - first)
    k, shift = place >> 5, np.uint64(place & 31)
    mask, word = np.uint64(MASK), np.uint64(32)
    high, low = np.uint64(mantissa >> 32), np.uint64(mantissa & MASK)
    lows, crossed, highs = low * low, (high * low) << np.uint64(1), high * high
    second = (lows >> word) + (crossed & mask)
    third = (second >> word) + (crossed >> word) + (highs & mask)
    fourth = (third >> word) + (highs >> word)
    for digit in (lows & mask, second & mask, third & mask, fourth):
        shifted = digit << shift
        squares[row, k] += sign * np.int64(shifted & mask)
        squares[row, k + 1] += sign * np.int64(shifted >> word)
        k += 1


@kernel
def spread(
    limbs: Limbs, squares: Limbs, row: Whole, count: Whole, root: Digits, digits: Digits
) -> None:
    """Fills `digits` with n Q - S^2, from settled rows; never negative."""
    magnitude(limbs, row, root)
    mask, word = np.uint64(MASK), np.uint64(32)
    width = squares.shape[1]
    digits[:] = np.uint64(0)
    carry = np.uint64(0)
    for k in range(width):
        product = np.uint64(squares[row, k]) * np.uint64(count) + carry
        digits[FRACTION + k] = product & mask
        carry = product >> word
    digits[FRACTION + width] = carry
    top = len(root)
    while top > FRACTION and root[top - 1] == 0:
        top -= 1
    for i in range(FRACTION, top):
        taken = np.uint64(0)
        for j in range(FRACTION, top):
            taken = _subtract_at(digits, i + j - FRACTION, root[i] * root[j], taken)
        k = i + top - FRACTION
        while taken != 0:
            taken = _subtract_at(digits, k, np.uint64(0), taken)
            k += 1


@lean_kernel
def _subtract_at(digits: Digits, k: Whole, product: np.uint64, taken: np.uint64) -> np.uint64:
    """Takes the low digit of product + taken from a digit; what is to be taken from the next one."""
    mask, word = np.uint64(MASK), np.uint64(32)
    # At most (2^32 - 1)^2 + 2^32: no overflow.
    wanted = product + taken
    low, high = wanted & mask, wanted >> word
    if digits[k] >= low:
        digits[k] -= low
        return high
    digits[k] = digits[k] + (mask + np.uint64(1)) - low
    return high + np.uint64(1)


@kernel
def _root(digits: Digits, unit: Whole, is_inexact: bool) -> float:  # noqa: FBT001
    """The root of digits * 2^unit, by way of a number near 1 times a power of 4."""
    top = len(digits) - 1
    while top > 0 and digits[top] == 0:
        top -= 1
    exponent = np.int64(32 * (top - FRACTION) + unit)
    exponent -= exponent & 1
    near = math.sqrt(round_to_double(digits, unit - exponent, is_inexact))
    return math.ldexp(near, int(exponent // 2))
