"""The words by which a sweep compares tuples as it meets them.

A comparison of two inputs has one column of words, in which each has its own side:

    a.x < b.x + 5        words of a: rank(x) + 1        a must not be above b
                         words of b: rank(x + 5)

Words are ranks (`ranks.py`), moved so that they are in order as numbers without a sign; `<` is `<=`
of the next rank. A sum that takes more than 64 bits is the last rank there is, and NULL is where
next to nothing passes: a word may let through what is false, never keep out what is true. What comes out
is tested once more, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.ranks import numbers_of, ranked_sides, ranks_of, valid_rows
from windrow.operators.joins.tuple_at_a_time.structure_words import saturated_sum
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.probe_orders import OrderedPair, ordered_pairs
from windrow.schema import MAX_TICK, MIN_TICK

Words = NDArray[np.uint64]


def compared_pairs(node: MultiJoin) -> tuple[OrderedPair, ...]:
    """The comparisons that the loops of a join test."""
    return tuple(ordered_pairs(node)) if node.chosen.compares else ()


def comparison_words(pairs: Sequence[OrderedPair], port: int, rows: ChangeBatch) -> Words:
    """Per row of an input, its word in each comparison; 0 in those that it has no side in."""
    words = np.zeros((len(rows), len(pairs)), np.uint64)
    for at, pair in enumerate(pairs):
        if port in (pair.lesser[0], pair.greater[0]):
            words[:, at] = _words(pair, rows, is_lesser=port == pair.lesser[0])
    return words


def _words(pair: OrderedPair, rows: ChangeBatch, *, is_lesser: bool) -> Words:
    side = (pair.lesser if is_lesser else pair.greater)[1]
    ranked = next(one for one in ranked_sides(pair.comparison) if one.side == side)
    column = rows.columns.column(side.column)
    next_rank = 1 if is_lesser and pair.is_strict else 0
    ranks = ranks_of(column, ranked)
    if ranks is None:
        # One sum, not two: what is below all ranks by more than one stays below them.
        whole = numbers_of(column).astype(np.int64)
        ranks = saturated_sum(whole, int(side.shift) + next_rank)
    elif next_rank:
        ranks = saturated_sum(ranks, next_rank)
    if column.null_count:
        ranks = np.where(valid_rows(column), ranks, MAX_TICK if is_lesser else MIN_TICK)
    found: Words = ranks.view(np.uint64) ^ np.uint64(1 << 63)
    return found
