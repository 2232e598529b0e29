"""Who is drawn: a seeded hash of the row against a chance.

A row's draw is a number from [0, 1) that follows from the row and the seed alone:

    draw  0 ----------------|----------------------- 1
             drawn          chance     not drawn

So it depends neither on the order of arrival, nor on batches or partitions, nor on whether a query
was stopped and resumed. A chance that is lowered lets go of some of those drawn and of no others:
what is left is what the lower chance would have drawn in the first place.

Equal rows are different tuples. They are numbered, and the number goes into the hash; that takes
all rows of an instant together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.key_columns import key_words, mixed_words

Words = NDArray[np.uint64]
Draws = NDArray[np.float64]

KEEP, PROBE = "$keep", "$probe"
"""The columns of rows held with their draws to be kept and to probe."""

NOT_DRAWN = 1.0
"""The draw of a row that is not kept, or does not probe: no chance is above it."""

_DIGITS = 53
"""Bits of a float between 0 and 1."""


class Purpose(IntEnum):
    """What a row is drawn for; the draws of one row for either are independent."""

    keep = 1
    probe = 2


def row_words(columns: Sequence[pa.Array], times: NDArray[np.int64]) -> Words:
    """A word per row, of its columns and its time; equal rows get different ones.

    Which of several equal rows gets which word does not matter: they are equal.

    Args:
        columns: what tells rows apart, NULLs included.
        times: their event times; all rows of any instant must be here.
    """
    keys = [*columns, pa.array(times)]
    words = mixed_words(key_words(keys, nulls_match=True).words)
    return mixed_words(words ^ mixed_words(_number_among_equals(words)))


def draws_of(words: Words, seed: int, stream: int, purpose: Purpose) -> Draws:
    """A number from [0, 1) per row, by the words that `row_words` gives.

    The position of the rows' stream is part of it: the same row of two streams is drawn twice.
    """
    salt = mixed_words(np.array([seed % (1 << 64), stream, purpose], np.uint64))
    mixed = words
    for grain in salt:
        mixed = mixed_words(mixed ^ grain)
    return (mixed >> np.uint64(64 - _DIGITS)).astype(np.float64) / (1 << _DIGITS)


def draw_numbers(draws: Draws, purpose: Purpose) -> NDArray[np.int64]:
    """A whole number per draw: the same for the same tuple and purpose, else another one.

    Draws of either purpose are apart: a tuple that is kept and probes has two numbers.
    """
    numbers = (draws * (1 << _DIGITS)).astype(np.int64)
    return numbers + (np.int64(purpose - Purpose.keep) << np.int64(_DIGITS))


def _number_among_equals(words: Words) -> Words:
    """0 for the first of equal words, 1 for the second, and so on."""
    order = np.argsort(words, kind="stable")
    inside = words[order]
    is_first = np.ones(len(words), np.bool_)
    is_first[1:] = inside[1:] != inside[:-1]
    starts = np.flatnonzero(is_first)
    numbers = np.empty(len(words), np.uint64)
    numbers[order] = np.arange(len(words)) - np.repeat(starts, np.diff([*starts, len(words)]))
    return numbers


def bits(number: float) -> int:
    """A float as an integer, bit by bit.

    Examples:
        >>> number_of(bits(0.1))
        0.1
    """
    return int(np.float64(number).view(np.int64))


def number_of(held: int) -> float:
    """The inverse of `bits`."""
    return float(np.int64(held).view(np.float64))


def numbered(numbers: Mapping[str, int], prefix: str) -> dict[int, int]:
    """The entries whose names are a prefix and a number, by that number, ascending."""
    found = {int(k.removeprefix(prefix)): v for k, v in numbers.items() if k.startswith(prefix)}
    return dict(sorted(found.items()))
