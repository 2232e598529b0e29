"""Sums of neighboring rows, exact, each as few values of the rows' own kind as can hold it.

Contract: group g are rows first_row[g] to first_row[g + 1]; `valid` is False for NULL. Integers and
decimals give one sum per group, and whether all of them fit. A sum of doubles is rarely a double,
but it is always a sum of a few, none of which is rounded:

    0.1 + 0.2 + 0.3       0.6000000000000001  +  -8.3e-17

the nearest double, then the nearest one to what is left, and so on until nothing is.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.exact_sum import (
    FRACTION,
    LEAST_EXPONENT,
    Digits,
    Limbs,
    add_decimal,
    add_double,
    add_integer,
    magnitude,
    read_decimal,
    read_double,
    read_integer,
    settle,
)
from windrow.kernels.jit import kernel
from windrow.kernels.sliding_aggregate import FINITE, INFINITIES, MINUS_INFINITIES, NANS, kind_of

Item = TypeVar("Item", np.int64, np.float64, np.int32)

LARGEST = float(np.finfo(np.float64).max)

SPARE = 2
"""Limbs below and above those that values touch: a double may begin 52 bits below the last bit that
is set, and carries go up."""

MOST_AT_ONCE = 4
"""A finite double, then NaN and both infinities: so many are written for every group at least."""


@kernel
def integer_sums(
    first_row: NDArray[np.int64], values: NDArray[np.int64], valid: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], bool]:
    """The sum of each group, and whether all are an int64."""
    groups = len(first_row) - 1
    sums = np.empty(groups, np.int64)
    limbs = np.zeros((1, 3), np.int64)
    all_fit = True
    for group in range(groups):
        limbs[0, :] = 0
        for row in range(first_row[group], first_row[group + 1]):
            if valid[row]:
                add_integer(limbs, 0, values[row], 1)
        settle(limbs, 0)
        sums[group], fits = read_integer(limbs, 0)
        all_fit = all_fit and fits
    return sums, all_fit


@kernel
def decimal_sums(
    first_row: NDArray[np.int64],
    words: NDArray[np.int64],
    valid: NDArray[np.bool_],
    bound: Digits,
) -> tuple[NDArray[np.int64], bool]:
    """The sum of each group, two words as each value is, and whether all are below the bound."""
    groups = len(first_row) - 1
    sums = np.empty((groups, 2), np.int64)
    limbs = np.zeros((1, 5), np.int64)
    digits = np.empty(FRACTION + 6, np.uint64)
    all_fit = True
    for group in range(groups):
        limbs[0, :] = 0
        for row in range(first_row[group], first_row[group + 1]):
            if valid[row]:
                add_decimal(limbs, 0, words[row, 0], words[row, 1], 1)
        settle(limbs, 0)
        is_negative = magnitude(limbs, 0, digits)
        sums[group, 0], sums[group, 1], fits = read_decimal(digits, is_negative, bound)
        all_fit = all_fit and fits
    return sums, all_fit


@kernel
def double_parts(
    first_row: NDArray[np.int64],
    values: NDArray[np.float64],
    valid: NDArray[np.bool_],
    span: tuple[int, int],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]:
    """What the values of each group add up to: groups, doubles, and how many values each counts for.

    The first of a group's finite doubles counts for all its finite values, the others for none.
    NaN and infinities come once each, and count for as many as there are. `span` is what
    `exact_sum.double_span` says of the values.
    """
    groups = len(first_row) - 1
    room = 2 * groups + MOST_AT_ONCE
    group_of = np.empty(room, np.int64)
    parts = np.empty(room, np.float64)
    counts = np.empty(room, np.int32)
    low = max(span[0] - SPARE, 0)
    limbs = np.zeros((1, max(span[1] - low, 0) + 1 + SPARE), np.int64)
    digits = np.empty(FRACTION + limbs.shape[1] + 1, np.uint64)
    bits = values.view(np.int64)
    kinds = np.zeros(4, np.int64)
    found = 0
    for group in range(groups):
        limbs[0, :] = 0
        kinds[:] = 0
        for row in range(first_row[group], first_row[group + 1]):
            if valid[row]:
                kind = kind_of(values[row])
                kinds[kind] += 1
                if kind == FINITE:
                    add_double(limbs, 0, bits[row], 32 * low, 1)
        settle(limbs, 0)
        count = kinds[FINITE]
        part = _nearest_taken(limbs, 32 * low, digits)
        while count > 0 or part != 0.0:
            if found + MOST_AT_ONCE > len(parts):
                group_of, parts, counts = _longer(group_of), _longer(parts), _longer(counts)
            group_of[found], parts[found], counts[found] = group, part, count
            found += 1
            count = 0
            part = _nearest_taken(limbs, 32 * low, digits)
        if found + MOST_AT_ONCE > len(parts):
            group_of, parts, counts = _longer(group_of), _longer(parts), _longer(counts)
        for kind, special in ((NANS, np.nan), (INFINITIES, np.inf), (MINUS_INFINITIES, -np.inf)):
            if kinds[kind] > 0:
                group_of[found], parts[found], counts[found] = group, special, kinds[kind]
                found += 1
    return group_of[:found].copy(), parts[:found].copy(), counts[:found].copy()


@kernel
def _longer(array: NDArray[Item]) -> NDArray[Item]:
    """The array with twice the room."""
    return np.concatenate((array, np.empty_like(array)))


@kernel
def _nearest_taken(limbs: Limbs, first: int, digits: Digits) -> float:
    """Takes the double nearest to what a settled row holds out of it; 0.0 where it holds nothing."""
    nearest = np.empty(1, np.float64)
    nearest[0] = read_double(limbs, 0, first + LEAST_EXPONENT, digits)
    if nearest[0] == np.inf or nearest[0] == -np.inf:
        nearest[0] = LARGEST if nearest[0] > 0 else -LARGEST
    add_double(limbs, 0, nearest.view(np.int64)[0], first, -1)
    settle(limbs, 0)
    return float(nearest[0])
