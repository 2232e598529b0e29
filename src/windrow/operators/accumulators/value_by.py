"""MIN_BY and MAX_BY: x of the pair (x, y) that comes first, or last, in the order of y.

Pairs with equal y are in the order of x, so that the answer does not depend on which came first. NULL
as x comes last where the first is asked for, and first where the last is. What is kept, and when all
of it, is as for MIN and MAX (`ordered.py`): the values are pairs, as words that kernels compare.

    y is a word             word: y;                      id: x, in the order of its bytes
    y is a text, or wide    word: the first eight bytes;  id: (x, y), in the order of y's bytes and x's
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.kernels.extremes import Coded
from windrow.kernels.jit import writable
from windrow.kernels.sliding_order import GREATEST, LEAST
from windrow.operators.accumulators.base import Answers, Flags, Numbers, validity
from windrow.operators.accumulators.codes import (
    CodedAnswers,
    Codes,
    Identified,
    Numeric,
    spelled,
)
from windrow.operators.accumulators.ordered import Ordered
from windrow.operators.columns.key_columns import fixed_bytes, is_exact, plain
from windrow.operators.columns.key_directory import KeyDirectory

_SIGN_BIT = np.uint64(1 << 63)


class MaxBy(Ordered):
    """The x of the pair with the greatest y."""

    takes: ClassVar[Mapping[str, tuple[int, ...]]] = {"max_by": (GREATEST,)}

    def _codes_of(self, kind: pa.DataType) -> Codes:
        return Pairs(kind, is_null_least=True)


class MinBy(Ordered):
    """The x of the pair with the least y."""

    takes: ClassVar[Mapping[str, tuple[int, ...]]] = {"min_by": (LEAST,)}

    def _codes_of(self, kind: pa.DataType) -> Codes:
        return Pairs(kind, is_null_least=False)


class Pairs(Identified):
    """Pairs (x, y) in the order of y, then of x; their values are x."""

    def __init__(self, kind: pa.StructType, *, is_null_least: bool) -> None:
        self._kind = kind.field(0).type
        self._has_words = is_exact(kind.field(1).type)
        self._null_mark = b"\x00" if is_null_least else b"\x01"
        self._mark = b"\x01" if is_null_least else b"\x00"
        super().__init__()

    def of(self, column: pa.Array) -> Coded:
        """The words and ids of a column of pairs."""
        valid = validity(column)
        x, y = (plain(field) for field in column.flatten())
        ids = self._ids([x] if self._has_words else [x, y], valid)
        if not self._has_words:
            return Coded(self._table.words_of(ids), ids, valid, self._table.texts)
        words = writable(np.where(valid, Numeric.words(y), 0))
        return Coded(words, ids, valid, self._table.texts)

    def values(self, words: Numbers, ids: Numbers) -> pa.Array:  # noqa: ARG002
        """The x of the pairs that have these ids; all in use."""
        return self._directory.keys_of(ids)[0] if len(ids) else pa.array([], self._kind)

    def answers(self, words: Numbers, ids: Numbers, valid: Flags) -> Answers:
        """The x of each version: NULL where there is no pair, and where x is."""
        shown = np.flatnonzero(valid)
        told = np.zeros(len(ids), np.int64)
        has_value = np.zeros(len(ids), np.bool_)
        if len(shown):
            x = self.values(words[shown], ids[shown])
            has_value[shown] = validity(x)
            same = ids[shown] if self._has_words else KeyDirectory().slots_of([x])
            told[shown] = np.where(has_value[shown], same, 0)
        return FirstOfPairs(told, has_value, pa.int64(), ids, self)

    def _bytes(self, keys: Sequence[pa.Array]) -> pa.Array:
        marks = pc.if_else(keys[0].is_null(), self._null_mark, self._mark)
        of_x = _joined(marks.cast(pa.large_binary()), _bytes_of(keys[0]))
        if self._has_words:
            return of_x
        # A zero byte inside of y is not its end: what ends comes before what goes on.
        y = pc.replace_substring(_bytes_of(keys[1]), b"\x00", b"\x00\xff")
        return _joined(y, of_x, by=b"\x00\x00")


@dataclass(frozen=True)
class FirstOfPairs(CodedAnswers):
    """Answers of which `values` tell the versions apart, and ids lead to what is shown."""

    def mark_changed(self, previous: Numbers, changed: Flags) -> None:
        """Marks the versions that differ here from the version before."""
        Answers(self.values, self.valid, pa.int64()).mark_changed(previous, changed)


def _joined(first: pa.Array, second: pa.Array, by: bytes = b"") -> pa.Array:
    return pc.binary_join_element_wise(first, second, pa.scalar(by, pa.large_binary()))


def _bytes_of(column: pa.Array) -> pa.Array:
    """Values of any type that has an order, as bytes in their order; nothing where they are NULL."""
    if not is_exact(column.type):
        return spelled(column).fill_null(b"")
    words = np.where(validity(column), Numeric.words(column), 0)
    high_first = (words.view(np.uint64) ^ _SIGN_BIT).astype(">u8")
    return fixed_bytes(high_first.view(np.uint8).reshape(-1, 8))
