"""The best pairs of each row asked for: candidates found in an index, dominated ones left out.

Contract. A value of a dimension is a uint64: an int64 shifted up by 2^63, which keeps order and
differences, or the 64 bits of a double. What pairs are compared by is a uint64 as well, the code of
the pair, less is better:

    INTEGER    the absolute difference, exact
    FLOAT      the bits of the absolute difference, which order as the doubles themselves do since
               none is negative; one that is NaN (infinity less infinity) makes no candidate
    SINGLE     the same of 32-bit floats, given as doubles: the difference is rounded to 32 bits,
               which is their difference in 32 bits, for a double has more than twice their digits
    YOUNGEST   how far the later of both values is below the greatest there can be
    WINDOW     0, where the other value is not below the one asked for, nor above it by more than
               the limit; else no candidate

No value is NULL or NaN: callers leave such rows out.

An index holds the rows of one chunk by group, within a group by time:

    groups   [  3       |  7                |  8    ]     ascending, each once
    starts   [  0          2                   6       8 ]
    times    [  10  40     5   10  10  90      7  8  ]     ascending within a group

A probe asks for a span of groups and a span of times, both ends included: one key, or the cells of
a grid that its epsilon reaches (the epsilon grid order of the bestmatch paper, section 3.3.1).

The skyline of a probe is kept at the end of the output, by a block-nested loop: a candidate is
compared with the pairs kept so far, puts out those that it dominates, and moves the pair that
dominates or equals it to the front, where the next candidate meets it first. (Many ties then cost
one comparison each: whatever equals an undominated pair is undominated.)

Cost: for each probe and group a binary search, then every row within the span of times once, each
against the skyline of its probe. The counter counts the rows within the span.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel

NO_LIMIT = 2**64 - 1
"""The limit of a dimension without a constraint: no code is above it."""

INTEGER, FLOAT, YOUNGEST, WINDOW, SINGLE = 0, 1, 2, 3, 4
"""How a dimension is measured."""


class Index(NamedTuple):
    """The rows of one chunk, by group and time; `rows` are their places in the chunk."""

    groups: NDArray[np.uint64]
    starts: NDArray[np.int64]
    times: NDArray[np.int64]
    values: NDArray[np.uint64]  # one row per row, one column per dimension
    rows: NDArray[np.int64]


class Probes(NamedTuple):
    """What each left row asks for; all spans include both ends."""

    first_group: NDArray[np.uint64]
    last_group: NDArray[np.uint64]
    first_time: NDArray[np.int64]
    last_time: NDArray[np.int64]
    values: NDArray[np.uint64]


class Measures(NamedTuple):
    """How each dimension is measured; the first that is above its limit ends a comparison."""

    kinds: NDArray[Any]  # bool where all are INTEGER or FLOAT, else uint8
    limits: NDArray[np.uint64]


class Pairs(NamedTuple):
    """Pairs of a probe and an indexed row, by probe, with their codes."""

    probes: NDArray[np.int64]
    rows: NDArray[np.int64]
    codes: NDArray[np.uint64]  # one row per pair, one column per dimension
    comparisons: int


@kernel
def best_pairs(
    index: Index,
    probes: Probes,
    measures: Measures,
    is_pruned: bool,  # noqa: FBT001  compiled functions take no keyword-only arguments
) -> Pairs:
    """The candidate pairs of every probe within one index that no other such pair dominates.

    Not pruned: all candidate pairs.
    """
    groups, starts, times, right, rows = index
    first_group, last_group, first_time, last_time, left = probes
    pair_probes = np.empty(256, np.int64)
    pair_rows = np.empty(256, np.int64)
    # One row more than pairs: a candidate is measured in the row after the last pair.
    codes = np.empty((257, left.shape[1]), np.uint64)
    count = 0
    comparisons = 0
    for probe in range(len(first_time)):
        skyline = count  # the pairs of this probe: [skyline, count)
        wanted = left[probe]
        group = _first_not_below(groups, 0, len(groups), first_group[probe])
        while group < len(groups) and groups[group] <= last_group[probe]:
            stop = starts[group + 1]
            at = _first_not_below(times, starts[group], stop, first_time[probe])
            stop = _first_above(times, at, stop, last_time[probe])
            comparisons += stop - at
            at = _next_candidate(wanted, right, at, stop, measures, codes, count)
            while at < stop:
                place = count
                if is_pruned:
                    place = _place(pair_rows, codes, skyline, count)
                if place >= 0:
                    pair_probes[place] = probe
                    pair_rows[place] = rows[at]
                    count = place + 1
                if count == len(pair_rows):
                    pair_probes = longer(pair_probes)
                    pair_rows = longer(pair_rows)
                    codes = _taller(codes)
                at = _next_candidate(wanted, right, at + 1, stop, measures, codes, count)
            group += 1
    return Pairs(pair_probes[:count], pair_rows[:count], codes[:count], comparisons)


@kernel
def best_of_runs(starts: NDArray[np.int64], codes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The pairs that no other pair of the same run dominates; run i is [starts[i], starts[i+1])."""
    kept = np.empty(len(codes), np.int64)
    ranked = np.empty((len(codes) + 1, codes.shape[1]), np.uint64)
    count = 0
    for run in range(len(starts) - 1):
        skyline = count
        for pair in range(starts[run], starts[run + 1]):
            for k in range(codes.shape[1]):
                ranked[count, k] = codes[pair, k]
            place = _place(kept, ranked, skyline, count)
            if place >= 0:
                kept[place] = pair
                count = place + 1
    return kept[:count]


@kernel
def _place(rows: NDArray[np.int64], codes: NDArray[np.uint64], skyline: int, candidate: int) -> int:
    """Where the candidate, measured after the skyline, joins it; -1 when it is dominated.

    What it dominates is moved behind that place:

        [ skyline ............ | place: the candidate | dominated, or free ]
    """
    dimensions = codes.shape[1]
    last = candidate
    at = skyline
    while at < last:
        is_better = False  # the pair at `at`, than the candidate
        is_worse = False
        for k in range(dimensions):
            if codes[at, k] < codes[candidate, k]:
                is_better = True
            elif codes[at, k] > codes[candidate, k]:
                is_worse = True
        if is_better and is_worse:
            at += 1
        elif is_worse:
            last -= 1
            _swap(rows, codes, at, last)
        else:
            _swap(rows, codes, skyline, at)
            return -1 if is_better else last
    if last < candidate:
        _swap(rows, codes, last, candidate)
    return last


@kernel
def _next_candidate(
    wanted: NDArray[np.uint64],
    right: NDArray[np.uint64],
    start: int,
    stop: int,
    measures: Measures,
    codes: NDArray[np.uint64],
    pair: int,
) -> int:
    """The first indexed row in [start, stop) within every limit, its codes written; or stop."""
    kinds, limits = measures
    for row in range(start, stop):
        near = 0
        for k in range(len(limits)):
            one, other = wanted[k], right[row, k]
            if kinds[k] == FLOAT:
                apart = abs(np.uint64(one).view(np.float64) - np.uint64(other).view(np.float64))
                if np.isnan(apart):
                    break
                code = np.float64(apart).view(np.uint64)
            elif kinds[k] == INTEGER:
                code = one - other if one >= other else other - one
            # A kind that is a bool is neither of these: the compiler leaves them out, and the loop
            # that most joins run is as fast as if they were not there.
            elif kinds[k] == YOUNGEST:
                code = ~max(one, other)
            elif kinds[k] == SINGLE:
                apart = abs(np.uint64(one).view(np.float64) - np.uint64(other).view(np.float64))
                if np.isnan(apart):
                    break
                code = np.float64(np.float32(apart)).view(np.uint64)
            else:
                if other < one or other - one > limits[k]:
                    break
                code = np.uint64(0)
            if code > limits[k]:
                break
            codes[pair, k] = code
            near += 1
        if near == len(limits):
            return row
    return stop


@kernel
def _first_not_below(keys: NDArray[Any], start: int, stop: int, key: int) -> int:
    """The first place in [start, stop) whose key is not below `key`."""
    while start < stop:
        middle = (start + stop) // 2
        if keys[middle] < key:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def _first_above(keys: NDArray[Any], start: int, stop: int, key: int) -> int:
    """The first place in [start, stop) whose key is above `key`."""
    while start < stop:
        middle = (start + stop) // 2
        if keys[middle] <= key:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def _swap(rows: NDArray[np.int64], codes: NDArray[np.uint64], one: int, other: int) -> None:
    rows[one], rows[other] = rows[other], rows[one]
    for k in range(codes.shape[1]):
        codes[one, k], codes[other, k] = codes[other, k], codes[one, k]


@kernel
def longer(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers in twice the room."""
    # By loop, here and below: to assign a slice takes numba seconds to compile.
    grown = np.empty(2 * len(numbers), np.int64)
    for at in range(len(numbers)):
        grown[at] = numbers[at]
    return grown


@kernel
def _taller(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    pairs, dimensions = codes.shape
    grown = np.empty((2 * pairs - 1, dimensions), np.uint64)
    for at in range(pairs):
        for k in range(dimensions):
            grown[at, k] = codes[at, k]
    return grown


class Sets(NamedTuple):
    """A set per pair: that of row `rows[i]` is elements[starts[row]:starts[row + 1]], ascending.

    Sets are dimensions too. What those of a pair share is told as bits:

        first     3  7  8  9          bits   0  1  2  3
        second       7     9  12             0  1  0  1

    Each element stands once in a set. The first set of every pair has at most 64 times as many
    elements as there are words.
    """

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    elements: NDArray[np.int64]


@kernel
def intersections(one: Sets, other: Sets, words: int) -> NDArray[np.uint64]:
    """For each pair of sets, which elements of the first the second has: bit i for element i.

    Cost: the elements of both sets, which ascend.
    """
    bits = np.zeros((len(one.rows), words), np.uint64)
    for pair in range(len(one.rows)):
        start, stop = one.starts[one.rows[pair]], one.starts[one.rows[pair] + 1]
        at, last = other.starts[other.rows[pair]], other.starts[other.rows[pair] + 1]
        for place in range(start, stop):
            while at < last and other.elements[at] < one.elements[place]:
                at += 1
            if at < last and other.elements[at] == one.elements[place]:
                bit = place - start
                bits[pair, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    return bits


@kernel
def best_with_sets(
    starts: NDArray[np.int64], codes: NDArray[np.uint64], numbers: int
) -> NDArray[np.bool_]:
    """Which pairs no other pair of the same run dominates; run i is [starts[i], starts[i + 1]).

    The first columns of the codes are `numbers` numbers, where less is better, and the others are
    sets of bits, in as many words as they take, where a set is better than those it contains. (Of
    several sets each has to contain its own, so that it does not matter where one begins.)

    Cost: every pair is compared with those of its run up to the first that dominates it.
    """
    is_best = np.ones(len(codes), np.bool_)
    for run in range(len(starts) - 1):
        for pair in range(starts[run], starts[run + 1]):
            for other in range(starts[run], starts[run + 1]):
                if _dominates(codes, numbers, other, pair):
                    is_best[pair] = False
                    break
    return is_best


@kernel
def _dominates(codes: NDArray[np.uint64], numbers: int, one: int, other: int) -> bool:
    is_better = False
    for k in range(numbers):
        if codes[one, k] > codes[other, k]:
            return False
        is_better |= codes[one, k] < codes[other, k]
    for k in range(numbers, codes.shape[1]):
        if codes[other, k] & ~codes[one, k]:
            return False
        is_better |= codes[one, k] != codes[other, k]
    return is_better
