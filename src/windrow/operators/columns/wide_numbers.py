"""Decimals of any size, compared exactly: as four words of 64 bits each, then by their ranks.

    decimal(38,18), decimal(20,2)  -->  256 bits at one scale  -->  |left - right|  -->  rank
                                        [ low, .., .., high ]       the same, unsigned    0, 1, 2 ..

A rank is a code: less is better, and equal distances have equal ranks. It means something among the
numbers that were ranked together, which are all candidates of some rows; it is no state. What is
kept are the words, 32 bytes a number.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.bestmatch.distances import units_within
from windrow.plan.nodes.bestmatch_join import Limit

Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

MOST_DIGITS = 76
"""Of a decimal of 256 bits: two decimals of Spark's, of 38 digits each, fit whatever their scales."""

_WORDS = 4
_SIGN = np.uint64(1 << 63)


KEPT_AS = pa.binary(_WORDS * 8)
"""The words of numbers in a column; those of `WORST` are no less than any other."""

WORST = b"\xff" * (_WORDS * 8)


def distances(left: pa.Array, right: pa.Array, eps: Limit | None) -> tuple[Words, Flags]:
    """The distances of decimals and whole numbers, and which are up to the limit."""
    scale = max(_scale(left), _scale(right))
    one, other = _words(left, scale), _words(right, scale)
    is_less = _are_less(one ^ _high_bit(), other ^ _high_bit())
    apart = np.where(is_less[:, None], _less(other, one), _less(one, other))
    has_values = np.array(left.is_valid()) & np.array(right.is_valid())
    if eps is not None:
        units = units_within(eps, scale)
        limit = _words_of_number(units)
        has_values &= (units >= 0) & ~_are_less(np.broadcast_to(limit, apart.shape), apart)
    return apart, has_values


def numbers(values: pa.Array, eps: Limit | None) -> tuple[Words, Flags]:
    """Decimals as unsigned numbers of the same order, and which are up to the limit."""
    words = _words(values, _scale(values)) ^ _high_bit()
    has_values: Flags = np.array(values.is_valid())
    if eps is not None:
        limit = _words_of_number(units_within(eps, _scale(values))) ^ _high_bit()
        has_values = has_values & ~_are_less(np.broadcast_to(limit, words.shape), words)
    return words, has_values


def column_of(words: Words) -> pa.Array:
    """The numbers as a column that may be kept."""
    buffer = pa.py_buffer(np.ascontiguousarray(words))
    return pa.Array.from_buffers(KEPT_AS, len(words), [None, buffer])


def words_in(column: pa.Array) -> Words:
    """The numbers of a column that was kept, or of decimals of 256 bits."""
    if not len(column):
        return np.empty((0, _WORDS), np.uint64)
    words = np.frombuffer(column.buffers()[1], np.uint64)
    return words[_WORDS * column.offset :][: _WORDS * len(column)].reshape(len(column), _WORDS)


def ranks(words: Words) -> Words:
    """The place of each unsigned number among the different ones, in order."""
    order = np.lexsort(words.T)  # the last column, the high word, decides first
    is_new = np.any(words[order][1:] != words[order][:-1], axis=1)
    places = np.empty(len(words), np.uint64)
    places[order] = np.concatenate([[0], np.cumsum(is_new)])[: len(words)]
    return places


def _scale(values: pa.Array) -> int:
    return values.type.scale if pa.types.is_decimal(values.type) else 0


def _words(values: pa.Array, scale: int) -> Words:
    """The numbers in units of 10^-scale, the low word first; NULLs become any number."""
    if not pa.types.is_decimal(values.type):
        values = values.cast(pa.int64()).cast(pa.decimal128(19, 0))
    wide = values.cast(pa.decimal256(MOST_DIGITS, scale))
    return words_in(wide)


def _words_of_number(units: int) -> Words:
    whole = min(max(units, -(2**255)), 2**255 - 1) % 2**256
    return np.array([whole >> 64 * k & 2**64 - 1 for k in range(_WORDS)], np.uint64)


def _high_bit() -> Words:
    """What makes signed numbers unsigned ones, order kept."""
    return np.array([0, 0, 0, _SIGN], np.uint64)


def _less(one: Words, other: Words) -> Words:
    """One number less another, word by word with what is borrowed."""
    found = np.empty_like(one)
    borrowed = np.zeros(len(one), np.uint64)
    for k in range(_WORDS):
        rest = one[:, k] - other[:, k]
        found[:, k] = rest - borrowed
        is_short = (one[:, k] < other[:, k]) | (rest < borrowed)
        borrowed = is_short.astype(np.uint64)
    return found


def _are_less(one: Words, other: Words) -> Flags:
    """Which unsigned numbers are less than the others: the highest word that differs decides."""
    is_less: Flags = np.zeros(len(one), np.bool_)
    for k in range(_WORDS):
        is_less = np.where(one[:, k] == other[:, k], is_less, one[:, k] < other[:, k])
    return is_less
