"""Sums and products with twice the digits of a double: pairs high + low, of which high is the value.

    high   53 bits                    the double nearest to the pair
    low            53 bits            what that leaves out, at most half a unit of its last bit

What is added and taken away again leaves a trace about 2^-106 of the greatest sum on the way: none
that a double shows, unless sums have swung by 2^50 in between. All of it is IEEE arithmetic (Dekker,
Knuth): right as long as nothing overflows or underflows, and never reordered by the compiler.
"""

from __future__ import annotations

from windrow.kernels._jit import kernel

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
