"""Whether two columns hold the same value, row by row.

By value as SQL's grouping has it: NULL = NULL, NaN = NaN, -0.0 = 0.0, inside nested values too;
the order of a map's entries does not count. Whole columns at a time, never row by row.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.operators.columns.key_columns import (
    column_words,
    is_exact,
    list_parts,
    plain,
    validity,
)

Flags = NDArray[np.bool_]


def equal_values(left: pa.Array, right: pa.Array) -> Flags:
    """Row by row, whether left and right hold the same value."""
    left, right = plain(left), plain(right)
    if left.type != right.type:
        right = right.cast(left.type)
    same = _equal_slots(left, right)
    left_valid, right_valid = validity(left), validity(right)
    if left_valid is None and right_valid is None:
        return same
    left_valid = np.ones(len(left), np.bool_) if left_valid is None else left_valid
    right_valid = np.ones(len(right), np.bool_) if right_valid is None else right_valid
    equal: Flags = np.where(left_valid & right_valid, same, left_valid == right_valid)
    return equal


def _equal_slots(left: pa.Array, right: pa.Array) -> Flags:
    """Equality of rows that are NULL on neither side; anything for the others."""
    kind = left.type
    if pa.types.is_null(kind):
        return np.ones(len(left), np.bool_)
    if is_exact(kind):
        exact: Flags = column_words(left).words == column_words(right).words
        return exact
    if pa.types.is_struct(kind):
        same = np.ones(len(left), np.bool_)
        for left_field, right_field in zip(left.flatten(), right.flatten(), strict=True):
            same &= equal_values(left_field, right_field)
        return same
    if pa.types.is_nested(kind):
        return _equal_lists(left, right)
    answers = pc.fill_null(pc.equal(left, right), False)
    flags: Flags = answers.to_numpy(zero_copy_only=False)
    return flags


def _equal_lists(left: pa.Array, right: pa.Array) -> Flags:
    """Equal lengths, and no differing element; map entries are paired by key first."""
    left_values, left_offsets = list_parts(left)
    right_values, right_offsets = list_parts(right)
    lengths = np.diff(left_offsets)
    same: Flags = lengths == np.diff(right_offsets)
    lengths = np.where(same, lengths, 0)
    row_of = np.repeat(np.arange(len(left)), lengths)
    left_elements = left_values.take(pa.array(_elements(left_offsets, lengths)))
    right_elements = right_values.take(pa.array(_elements(right_offsets, lengths)))
    if pa.types.is_map(left.type):
        return _equal_entries(left_elements, right_elements, row_of, same)
    same[row_of[~equal_values(left_elements, right_elements)]] = False
    return same


def _elements(offsets: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions of the first `lengths[i]` elements of each row i, one row after another."""
    shift = offsets[:-1] - (np.cumsum(lengths) - lengths)
    positions: NDArray[np.int64] = np.arange(int(lengths.sum())) + np.repeat(shift, lengths)
    return positions


def _equal_entries(
    left: pa.StructArray, right: pa.StructArray, row_of: NDArray[np.int64], same: Flags
) -> Flags:
    """Equality of maps from their aligned entries, `same` saying which have equal lengths."""
    left_order, left_tied = _by_key(left, row_of)
    right_order, right_tied = _by_key(right, row_of)
    different = ~equal_values(left.take(pa.array(left_order)), right.take(pa.array(right_order)))
    same[row_of[different]] = False
    # Keys whose words tie have no order of their own: such a row's entries are paired by search.
    for row in np.union1d(left_tied, right_tied):
        start, stop = np.searchsorted(row_of, [row, row + 1])
        same[row] = _same_bag(left.slice(start, stop - start), right.slice(start, stop - start))
    return same


def _by_key(
    entries: pa.StructArray, row_of: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order of the entries by (row, word of the key), and the rows in which words tie."""
    words = column_words(entries.field(0)).words
    order = np.lexsort((words, row_of))
    rows, words = row_of[order], words[order]
    ties = (rows[1:] == rows[:-1]) & (words[1:] == words[:-1])
    return order, rows[1:][ties]


def _same_bag(left: pa.StructArray, right: pa.StructArray) -> bool:
    """Whether two bags of equally many entries are the same, each entry used once."""
    free = np.ones(len(right), np.bool_)
    for at in range(len(left)):
        one = left.take(pa.array(np.full(len(right), at)))
        found = np.flatnonzero(free & equal_values(one, right))
        if not len(found):
            return False
        free[found[0]] = False
    return True
