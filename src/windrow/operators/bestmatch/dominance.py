"""What pairs are worth, and who of those that are judged together is best, and when.

**Rivals** (`RivalPairs`) are pairs with one number in a list of groups. New ones are compared with
those there, group by group, by the kernel (`kernels/sliding_skyline.py`). What a partial order says
has to be asked before that, of every two pairs that the kernel may compare, and so in blocks:

    group 1   there  new new | new            a block ends after so many comparisons; the next one
    group 2          there   | there new      finds the pairs of the block before among those there

**Worth** (`PairWorth`) is what a pair has in the dimensions of its join:

    codes      distances, ages, and the numbers of the user's functions: less is better; decimals
               that 64 bits do not hold as their words (`wide_numbers`)
    shared     of SUBSET, the elements that both arrays have, each once
    said       of a partial order, what the user's function says of two pairs; asked as they are
               compared

The first two are computed once, as a pair comes, and kept with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.jit import writable
from windrow.kernels.sliding_skyline import BETTER, WORSE, Pairs, Worth, compare_new_pairs
from windrow.operators.bestmatch.distances import Measure, has_values
from windrow.operators.bestmatch.match_orders import (
    MOST_COMPARISONS,
    by_codes,
    coded_elements,
    note_order,
    worth,
)
from windrow.operators.columns import wide_numbers
from windrow.plan.nodes.bestmatch_join import SUBSET

if TYPE_CHECKING:
    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.engine.base import Counters
    from windrow.plan.nodes.bestmatch_join import Dimension
    from windrow.schema import Schema

    Codes = NDArray[np.uint64]


Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]

Events: TypeAlias = tuple[Int64s, Int64s, NDArray[np.int8]]
"""Pairs, instants, and whether each comes (1) or goes (-1)."""

NO_GROUP = -1
"""The group of a pair that has no rivals to be compared with now."""


@dataclass(frozen=True)
class RivalPairs:
    """Pairs, and what is known of them.

    Attributes:
        codes: what they are worth in numbers, a row per pair.
        sets: per SUBSET, what their arrays share.
        columns: what partial orders are asked by.
        partial: those orders.
        times: when they come; of those there, any number.
        ends: when they go.
        is_new: which of them come now.
        free: per list of groups, from when on each is free of all that dominate it; written.
        is_shown: per list of groups, whether each is best in it; written.
    """

    codes: NDArray[np.uint64]
    sets: Sequence[pa.Array]
    columns: pa.RecordBatch
    partial: Sequence[Dimension]
    times: Int64s
    ends: Int64s
    is_new: Flags
    free: Int64s
    is_shown: Flags

    def judged(self, number: int, groups: Int64s, watermark: int, counters: Counters) -> Events:
        """What comes and goes below the watermark in the so many-th list of groups, pair by pair.

        `groups` has the group of each pair in it, or NO_GROUP.
        """
        free, is_shown, ends = self.free[number], self.is_shown[number], self.ends
        made = list(self._compared(free, is_shown, groups, counters))
        comes = np.flatnonzero(~is_shown & (free < np.minimum(ends, watermark)))
        is_shown[comes] = True
        made.append((comes, free[comes], np.ones(len(comes), np.int8)))
        goes = np.flatnonzero(ends < watermark)
        left = goes[is_shown[goes]]
        is_shown[goes] = False
        free[goes] = ends[goes]
        made.append((left, ends[left], np.full(len(left), -1, np.int8)))
        pairs, times, signs = (np.concatenate(part) for part in zip(*made, strict=True))
        return pairs, times, signs

    def _compared(
        self, free: Int64s, is_shown: Flags, groups: Int64s, counters: Counters
    ) -> Iterator[Events]:
        """What the new pairs change, block by block."""
        chosen = np.flatnonzero((groups != NO_GROUP) & (self.is_new | (free < self.ends)))
        # Those there first, then by time: new ones come at or after all others.
        order = np.lexsort((self.times[chosen], self.is_new[chosen], groups[chosen]))
        chosen = chosen[order]
        counters.probes += int(np.count_nonzero(self.is_new[chosen]))
        for block, is_new in self._blocks(chosen, groups[chosen], free):
            starts = np.append(_starts(groups[block]), len(block))
            pairs = Pairs(
                starts, self.times[block], self.ends[block], free[block], is_shown[block], is_new
            )
            found = compare_new_pairs(pairs, self._worth(block, starts, is_new))
            counters.comparisons += found.comparisons
            free[block], is_shown[block] = pairs.free, pairs.is_shown
            yield block[found.pairs], found.times, found.signs.astype(np.int8)

    def _blocks(
        self, chosen: Int64s, groups: Int64s, free: Int64s
    ) -> Iterator[tuple[Int64s, Flags]]:
        """The pairs that are compared at a time, and which of them are new then."""
        is_new = self.is_new[chosen]
        if not self.partial:
            if is_new.any():
                yield chosen, is_new
            return
        starts = _starts(groups)
        first = np.repeat(starts, np.diff(np.append(starts, len(groups))))
        new = np.flatnonzero(is_new)
        block_of = np.cumsum(new - first[new]) // MOST_COMPARISONS
        for start in np.flatnonzero(np.diff(block_of, prepend=-1)):
            stop = int(np.searchsorted(block_of, block_of[start], side="right"))
            places = np.arange(first[new[start]], new[stop - 1] + 1)
            comes = is_new[places] & (places >= new[start])
            own = chosen[places]
            kept = comes | (free[own] < self.ends[own])
            yield own[kept], comes[kept]

    def _worth(self, block: Int64s, starts: Int64s, is_new: Flags) -> Worth:
        codes = np.ascontiguousarray(self.codes[block])
        set_starts, elements = _elements([own.take(pa.array(block)) for own in self.sets], block)
        first_said = np.zeros(len(block) if self.partial else 0, np.int64)
        said = np.empty(0, np.int8)
        if self.partial:
            group_start = np.repeat(starts[:-1], np.diff(starts))
            before = np.where(is_new, np.arange(len(block)) - group_start, 0)
            first_said = np.cumsum(before) - before
            one = np.repeat(np.arange(len(block)), before)
            other = group_start[one] + np.arange(len(one)) - first_said[one]
            said = self._said(codes, block, one, other)
        return Worth(codes, set_starts, elements, first_said, said)

    def _said(
        self, codes: NDArray[np.uint64], block: Int64s, one: Int64s, other: Int64s
    ) -> NDArray[np.int8]:
        """What the partial orders say of pairs and others, where numbers leave it open."""
        is_better, is_worse = by_codes(codes, codes.shape[1], one, other)
        is_open = ~(is_better & is_worse)
        is_better[is_open] = is_worse[is_open] = False
        for dimension in self.partial:
            # Of a row that stands for having no pair, codes say all there is to say.
            has_values = self.columns.column(dimension.left).is_valid().to_numpy(False)
            has_values &= self.columns.column(dimension.right).is_valid().to_numpy(False)
            is_asked = has_values[block[one]] & has_values[block[other]]
            open_ = np.flatnonzero(is_open & is_asked & ~(is_better & is_worse))
            arrays = [
                self.columns.column(name).take(pa.array(block[side[open_]]))
                for side in (one, other)
                for name in (dimension.left, dimension.right)
            ]
            note_order(dimension, arrays, open_, is_better, is_worse)
        return (BETTER * is_better + WORSE * is_worse).astype(np.int8)


def _starts(groups: Int64s) -> Int64s:
    """Where each run of one group begins."""
    return np.flatnonzero(np.diff(groups, prepend=NO_GROUP))


def _elements(sets: Sequence[pa.Array], block: Int64s) -> tuple[Int64s, Int64s]:
    """The sets of pairs as one each: where each begins, and the elements, ascending in each."""
    if not sets:
        return np.zeros(1, np.int64), np.empty(0, np.int64)
    owners, elements, width = [], [], 0
    for own in sets:
        encoded = own.flatten().dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        elements.append(codes + width)  # no element is one of another dimension's
        width += len(encoded.dictionary) + 1
        lengths = own.value_lengths().to_numpy(zero_copy_only=False)
        owners.append(np.repeat(np.arange(len(block)), lengths))
    owner, element = np.concatenate(owners), np.concatenate(elements)
    order = np.lexsort((element, owner))
    starts = np.searchsorted(owner[order], np.arange(len(block) + 1))
    return starts, writable(element[order])


def in_any(events: Sequence[Events], was_shown: Int64s) -> Events:
    """When a pair is in the answer for some group of columns: changes of that, in time order.

    for the left    +.......-       +....
    for the right       +.......-
    in the answer   +...........-   +....
    """
    pairs, times, signs = (np.concatenate(part) for part in zip(*events, strict=True))
    order = np.lexsort((times, pairs))
    pairs, times, signs = pairs[order], times[order], signs[order]
    is_first = np.diff(pairs, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    # How many groups show the pair after each event: those before all, and the events so far.
    total = np.cumsum(signs, dtype=np.int64)
    lengths = np.diff(np.append(starts, len(pairs)))
    before_run = np.repeat(total[starts] - signs[starts], lengths)
    after = total - before_run + was_shown[pairs]
    is_last_of_instant = np.append((np.diff(pairs) != 0) | (np.diff(times) != 0), True)[
        : len(pairs)
    ]
    at = np.flatnonzero(is_last_of_instant)
    is_in = after[at] > 0
    was_in = np.empty(len(at), np.bool_)
    was_in[1:] = is_in[:-1]
    opens = np.append(True, np.diff(pairs[at]) != 0)[: len(at)]
    was_in[opens] = was_shown[pairs[at][opens]] > 0
    changed = at[is_in != was_in]
    signs = np.where(after[changed] > 0, 1, -1).astype(np.int8)
    order = np.argsort(times[changed], kind="stable")
    return pairs[changed][order], times[changed][order], signs[order]


LEFT, RIGHT = 0, 1

CODE, SHARED = "$code{}", "$shared{}"
"""Columns of our own: the number of a pair in the so many-th dimension, and the set."""


class PairWorth:
    """The dimensions of one join; `schema` has the columns of a pair."""

    def __init__(self, dimensions: Sequence[Dimension], schema: Schema) -> None:
        self._by_value = [d for d in dimensions if d.is_by_value]
        self._sets = [d for d in dimensions if d.order == SUBSET]
        self._numbers = [
            (d, None if d.is_by_value else Measure.of(d, schema, schema))
            for d in dimensions
            if d.order != SUBSET and not d.is_partial_order
        ]
        self.partial = tuple(d for d in dimensions if d.is_partial_order)

    @property
    def code_names(self) -> list[str]:
        """The columns of codes."""
        return [CODE.format(number) for number in range(len(self._numbers))]

    @property
    def set_names(self) -> list[str]:
        """The columns of sets."""
        return [SHARED.format(number) for number in range(len(self._sets))]

    @property
    def compared(self) -> list[str]:
        """The pair's own columns that are read when two pairs are compared."""
        return list(dict.fromkeys(name for d in self.partial for name in (d.left, d.right)))

    def of(self, pairs: ChangeBatch) -> tuple[NDArray[np.int64], dict[str, pa.Array]]:
        """The pairs that are candidates, by place, and what these are worth, as columns.

        A NULL or NaN makes a pair no candidate, and so does a number above its limit. Functions
        are asked of values that are neither.
        """
        is_candidate = np.ones(len(pairs), np.bool_)
        for dimension in self._by_value:
            for name in (dimension.left, dimension.right):
                has_value = has_values(pairs.columns.column(name))
                if has_value is not None:
                    is_candidate &= has_value
        codes: list[Codes] = []
        for dimension, measure in self._numbers:
            if measure is None:
                own, is_within = _by_value(dimension, pairs, is_candidate)
            else:
                own, is_within = _measured(measure, pairs)
            is_candidate &= is_within
            codes.append(own)
        kept = np.flatnonzero(is_candidate)
        columns = {
            name: pa.array(own[kept]) if own.ndim == 1 else wide_numbers.column_of(own[kept])
            for name, own in zip(self.code_names, codes, strict=True)
        }
        taken = pa.array(kept)
        for name, dimension in zip(self.set_names, self._sets, strict=True):
            arrays = [
                pairs.columns.column(n).take(taken) for n in (dimension.left, dimension.right)
            ]
            columns[name] = shared_elements(*arrays)
        return kept, columns


def shared_elements(left: pa.Array, right: pa.Array) -> pa.Array:
    """Of two columns of arrays, neither NULL, the elements that both arrays of a row have, once."""
    one, other, dictionary = coded_elements(left, right)
    width = len(dictionary) + 1
    keys = [np.unique(own.owners * width + own.codes) for own in (one, other)]
    both = np.intersect1d(keys[0], keys[1], assume_unique=True)
    offsets = np.searchsorted(both, np.arange(len(left) + 1) * width).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), dictionary.take(pa.array(both % width)))


def codes_in(column: pa.Array) -> Codes:
    """The codes of pairs that are compared with each other, out of the column that is kept."""
    if column.type == wide_numbers.KEPT_AS:
        return wide_numbers.ranks(wide_numbers.words_in(column))
    codes: Codes = column.to_numpy()
    return codes


def worst(column: pa.Array, rows: int) -> pa.Array:
    """As many codes or sets as there are rows, no better than any in the column."""
    if pa.types.is_list(column.type):
        return pa.array([[]] * rows, column.type)
    if column.type == wide_numbers.KEPT_AS:
        return pa.array([wide_numbers.WORST] * rows, column.type)
    return pa.array(np.full(rows, np.iinfo(np.uint64).max))


def _by_value(dimension: Dimension, pairs: ChangeBatch, is_asked: Flags) -> tuple[Codes, Flags]:
    """What values tell, of the pairs that are asked for, and which make their pair a candidate."""
    asked = np.flatnonzero(is_asked)
    left, right = (
        pairs.columns.column(name).take(pa.array(asked))
        for name in (dimension.left, dimension.right)
    )
    found, is_candidate = worth(dimension, (left, right), len(asked))
    codes = np.zeros((len(pairs), *found.shape[1:]), np.uint64)
    is_within = np.zeros(len(pairs), np.bool_)
    codes[asked], is_within[asked] = found, is_candidate
    return codes, is_within


def _measured(measure: Measure, pairs: ChangeBatch) -> tuple[Codes, Flags]:
    """Distances or ages as codes, and which make their pair a candidate."""
    left, has_left = measure.values(pairs, LEFT)
    right, has_right = measure.values(pairs, RIGHT)
    if measure.is_youngest:
        codes = np.iinfo(np.uint64).max - np.maximum(left, right)
    elif measure.is_float:
        codes = np.ascontiguousarray(measure.apart(left, right)).view(np.uint64)
    else:
        codes = np.maximum(left, right) - np.minimum(left, right)
    can_match = measure.eps is None or measure.eps >= 0
    is_within: Flags = codes <= np.uint64(measure.limit if can_match else 0)
    is_within &= can_match
    if measure.is_float:
        is_within = is_within & ~np.isnan(codes.view(np.float64))
    for has_value in (has_left, has_right):
        if has_value is not None:
            is_within = is_within & has_value
    return codes, is_within
