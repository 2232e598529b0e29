"""Sums without error: whole numbers of any width, in limbs of 32 bits.

An accumulator is one row of int64 limbs. With w limbs its value is

    (limb[0] + limb[1] * 2^32 + ... + limb[w-1] * 2^(32 (w-1))) * unit

    settled:   limb[0 .. w-2] in [0, 2^32)      limb[w-1] signed, takes the carries

A value is added, or taken away again, by adding to at most four limbs; nothing is ever rounded, so
what has left leaves no trace. Each limb has 31 bits to spare: `settle` must come at least once in
2^29 additions. The three layouts:

    integers    unit 1              w = 3     two limbs of the int64, one for carries
    decimals    unit 10^-scale      w = 5     four limbs of the 128 bits, one for carries
    doubles     unit 2^(32 low - 1074)        as many limbs as the values seen need: limb 0 holds
                                              bits 32 low to 32 low + 31 above the least double

Rounding happens once, when a sum or a mean is read, to the nearest double, ties to even. A mean is
the exact quotient, rounded once.

Reading needs a row of digits (32 bits each, all positive) to work in: FRACTION digits below the
unit, then w + 1 above it:

    digits   [ 0  1  2 | 3 ........ 3 + w ]
               below      magnitude
               the unit
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel

MASK = 0xFFFFFFFF
FRACTION = 3
"""Digits below the unit: a quotient by less than 2^31 then keeps 64 bits or more."""

LEAST_EXPONENT = -1074
"""The least positive double is 2^-1074."""

POWERS_OF_TWO = np.ldexp(1.0, np.arange(LEAST_EXPONENT, 972))
"""2^-1074 to 2^971. A product of 53 bits with one of them is exact where a double holds it."""

Whole = int | np.int64
Limbs = NDArray[np.int64]
Digits = NDArray[np.uint64]


@kernel
def add_integer(limbs: Limbs, row: Whole, value: Whole, sign: Whole) -> None:
    """Adds sign * value, an int64."""
    limbs[row, 0] += sign * (value & MASK)
    limbs[row, 1] += sign * (value >> 32)


@kernel
def add_decimal(limbs: Limbs, row: Whole, low: Whole, high: Whole, sign: Whole) -> None:
    """Adds sign * (high * 2^64 + low), 128 bits in two's complement."""
    limbs[row, 0] += sign * (low & MASK)
    limbs[row, 1] += sign * ((low >> 32) & MASK)
    limbs[row, 2] += sign * (high & MASK)
    limbs[row, 3] += sign * (high >> 32)


@kernel
def add_double(limbs: Limbs, row: Whole, bits: Whole, first: Whole, sign: Whole) -> None:
    """Adds sign * the finite double with these bits; limb 0 begins `first` bits above 2^-1074.

    m * 2^e is shifted into place over three limbs:

        limb    |   k + 2    |   k + 1    |     k      |
        m << s         [ high 21 ][  low 32 bits  ]
    """
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & 0xFFFFFFFFFFFFF
    if exponent > 0:
        mantissa |= 0x10000000000000
        exponent -= 1
    if bits < 0:
        sign = -sign
    place = exponent - first
    k = place >> 5
    if mantissa == 0:
        return
    low = (mantissa & MASK) << (place & 31)
    high = (mantissa >> 32) << (place & 31)
    limbs[row, k] += sign * (low & MASK)
    limbs[row, k + 1] += sign * ((low >> 32) + (high & MASK))
    limbs[row, k + 2] += sign * (high >> 32)


@kernel
def double_span(bits: NDArray[np.int64], valid: NDArray[np.bool_]) -> tuple[int, int]:
    """The least and greatest limb, counted from 2^-1074, that finite values touch; (0, -1): none."""
    least, greatest = 2048, -1
    for i in range(len(bits)):
        exponent = (bits[i] >> 52) & 0x7FF
        if valid[i] and exponent != 0x7FF and bits[i] << 1 != 0:
            place = max(exponent - 1, 0)
            least = min(least, place)
            greatest = max(greatest, place)
    if greatest < 0:
        return 0, -1
    return least >> 5, (greatest >> 5) + 2


@kernel
def settle(limbs: Limbs, row: Whole) -> None:
    """Carries, so that all limbs but the last are in [0, 2^32)."""
    carry = 0
    last = limbs.shape[1] - 1
    for k in range(last):
        total = limbs[row, k] + carry
        limbs[row, k] = total & MASK
        carry = total >> 32
    limbs[row, last] += carry


@kernel
def magnitude(limbs: Limbs, row: Whole, digits: Digits) -> bool:
    """Fills `digits` with the absolute value of a settled row; whether the value is negative."""
    width = limbs.shape[1]
    is_negative = limbs[row, width - 1] < 0
    for k in range(FRACTION):
        digits[k] = np.uint64(0)
    carry = 0
    for k in range(width):
        total = (-limbs[row, k] if is_negative else limbs[row, k]) + carry
        digits[FRACTION + k] = np.uint64(total & MASK)
        carry = total >> 32
    digits[FRACTION + width] = np.uint64(carry)
    for k in range(FRACTION + width + 1, len(digits)):
        digits[k] = np.uint64(0)
    return bool(is_negative)


@kernel
def scale_digits(digits: Digits, factor: int) -> None:
    """Multiplies the digits by a factor below 2^31; the last digit must have room."""
    carry = np.uint64(0)
    for k in range(FRACTION, len(digits)):
        total = digits[k] * np.uint64(factor) + carry
        digits[k] = total & np.uint64(MASK)
        carry = total >> np.uint64(32)


@kernel
def divide_digits(digits: Digits, lowest: int, divisor: int) -> int:
    """Divides the digits from `lowest` up by a divisor below 2^31; gives the remainder."""
    rest = np.uint64(0)
    by = np.uint64(divisor)
    for k in range(len(digits) - 1, lowest - 1, -1):
        dividend = (rest << np.uint64(32)) | digits[k]
        quotient = dividend // by
        digits[k] = quotient
        rest = dividend - quotient * by
    return int(rest)


@kernel
def round_to_double(digits: Digits, unit: Whole, is_inexact: bool) -> float:  # noqa: FBT001
    """The double nearest to digits * 2^unit; `is_inexact`: a little more than the digits say.

    The unit is that of digit FRACTION.
    """
    top = len(digits) - 1
    while top > 0 and digits[top] == 0:
        top -= 1
    second = digits[top - 1] if top >= 1 else np.uint64(0)
    third = digits[top - 2] if top >= 2 else np.uint64(0)
    for k in range(top - 2):
        is_inexact = is_inexact or digits[k] != 0
    return _nearest(digits[top], second, third, 32 * (top - FRACTION) + unit, is_inexact)


@kernel
def _nearest(
    first: np.uint64,
    second: np.uint64,
    third: np.uint64,
    exponent: Whole,
    is_inexact: bool,  # noqa: FBT001
) -> float:
    """The double nearest to first * 2^exponent and what the next two digits add, or a little more.

    The first 64 bits from the leading one decide, with the knowledge whether more follows:

        head   [ 1xxxxxxx ... 53 bits kept ... | 11 bits dropped ] rest ...
    """
    if first == 0:
        return 0.0
    shift = _leading_zeros(first)
    up, down = np.uint64(shift), np.uint64(32 - shift)
    head = (((first << np.uint64(32)) | second) << up) | (third >> down)
    is_inexact = is_inexact or ((third << up) & np.uint64(MASK)) != 0
    # The value is head * 2^exponent; bits below 2^-1074 must go too.
    exponent -= 32 + shift
    dropped = max(11, LEAST_EXPONENT - exponent)
    if dropped > 64:
        return 0.0
    kept = np.uint64(0) if dropped == 64 else head >> np.uint64(dropped)
    half = np.uint64(1) << np.uint64(dropped - 1)
    rest = head & ((half << np.uint64(1)) - np.uint64(1))
    if rest > half or (rest == half and (is_inexact or (kept & np.uint64(1)) != 0)):
        kept += np.uint64(1)
    exponent += dropped
    if exponent > 971 or (exponent == 971 and kept >> np.uint64(53) != 0):
        return math.inf
    nearest: float = float(kept) * POWERS_OF_TWO[exponent - LEAST_EXPONENT]
    return nearest


@kernel
def _leading_zeros(digit: np.uint64) -> int:
    """How many of a digit's 32 bits come before the first that is set."""
    zeros = 0
    for step in (16, 8, 4, 2, 1):
        if digit >> np.uint64(32 - step) == 0:
            digit <<= np.uint64(step)
            zeros += step
    return zeros


@kernel
def read_double(limbs: Limbs, row: Whole, unit: Whole, digits: Digits) -> float:
    """The double nearest to the sum in a settled row."""
    top = limbs.shape[1] - 1
    if limbs[row, top] < 0 or limbs[row, top] > MASK:
        is_negative = magnitude(limbs, row, digits)
        nearest = round_to_double(digits, unit, False)
        return 0.0 - nearest if is_negative else nearest
    # The limbs of a positive sum are its digits: copying them would cost half as much again.
    while top > 0 and limbs[row, top] == 0:
        top -= 1
    second = limbs[row, top - 1] if top >= 1 else 0
    third = limbs[row, top - 2] if top >= 2 else 0
    is_inexact = False
    for k in range(top - 2):
        is_inexact = is_inexact or limbs[row, k] != 0
    return _nearest(
        np.uint64(limbs[row, top]),
        np.uint64(second),
        np.uint64(third),
        32 * top + unit,
        is_inexact,
    )


@kernel
def read_mean(limbs: Limbs, row: int, unit: int, count: int, digits: Digits) -> float:
    """The double nearest to the sum in a settled row divided by a count below 2^31."""
    is_negative = magnitude(limbs, row, digits)
    rest = divide_digits(digits, 0, count)
    nearest = round_to_double(digits, unit, rest != 0)
    # A mean too small for a double is 0.0, not -0.0: equal answers have equal bits.
    return 0.0 - nearest if is_negative else nearest


@kernel
def read_integer(limbs: Limbs, row: int) -> tuple[int, bool]:
    """The int64 in a settled row of three limbs, and whether it fits."""
    value = (limbs[row, 1] << 32) | limbs[row, 0]
    return value, limbs[row, 2] == value >> 63


@kernel
def read_decimal(digits: Digits, is_negative: bool, bound: Digits) -> tuple[Whole, Whole, bool]:  # noqa: FBT001
    """Low and high word of the number in `digits`, and whether it is below the bound's four digits."""
    fits = True
    for k in range(FRACTION + 4, len(digits)):
        fits = fits and digits[k] == 0
    k = 3
    while k > 0 and digits[FRACTION + k] == bound[k]:
        k -= 1
    fits = fits and digits[FRACTION + k] < bound[k]
    low = np.int64(digits[FRACTION] | (digits[FRACTION + 1] << np.uint64(32)))
    high = np.int64(digits[FRACTION + 2] | (digits[FRACTION + 3] << np.uint64(32)))
    if is_negative:
        low, high = -low, ~high + (1 if low == 0 else 0)
    return low, high, fits
