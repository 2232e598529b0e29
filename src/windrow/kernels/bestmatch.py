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

What is near enough is found dimension by dimension: each pass over the rows that are left keeps those
within its limit, without a branch that the processor would have to guess, for about half of them go.

The best of them are then found in rounds. The pair of least score (the sum of its codes, each as a share
of what the pairs span) is dominated by none; it leaves out what it dominates, most in the first rounds:

    [ best so far | the rest ]     one round:     [ best so far | pivot | not dominated by it ]

Cost: for each probe and group a binary search, then every row within the span of times once, those near
enough once per dimension, and of these, for each of the best, all that the ones before have left. (Equal
pairs go with one of them, in one round.) The counter counts the rows within the span.
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

INFINITY = np.float64(np.inf).view(np.uint64)
"""The bits of an infinite distance; those of a NaN are above. (Of 64 bits without a sign, as limits are: beside
any other number these would become doubles.)"""


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

    kinds: NDArray[np.uint8]
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
    kinds, limits = measures
    dimensions = len(limits)
    pair_probes = np.empty(256, np.int64)
    pair_rows = np.empty(256, np.int64)
    pair_codes = np.empty((256, dimensions), np.uint64)
    near = np.empty(256, np.int64)
    codes = np.empty((256, dimensions), np.uint64)
    chosen, scores = np.empty(256, np.int64), np.empty(256, np.float64)
    count = 0
    comparisons = 0
    for probe in range(len(first_time)):
        found = 0
        group = _first_not_below(groups, 0, len(groups), first_group[probe])
        while group < len(groups) and groups[group] <= last_group[probe]:
            stop = starts[group + 1]
            at = _first_not_below(times, starts[group], stop, first_time[probe])
            stop = _first_above(times, at, stop, last_time[probe])
            comparisons += stop - at
            while found + stop - at > len(near):
                near = longer(near)
            for row in range(at, stop):
                near[found] = row
                found += 1
            group += 1
        for k in range(dimensions):
            found = _near(kinds[k], limits[k], left[probe, k], right, k, near, found)
        if found > len(codes):
            codes = np.empty((len(near), dimensions), np.uint64)
            chosen, scores = np.empty(len(near), np.int64), np.empty(len(near), np.float64)
        for k in range(dimensions):
            for at in range(found):
                codes[at, k] = _code(kinds[k], left[probe, k], right[near[at], k])
        best = _best_first(codes, 0, found, chosen, scores, is_pruned)
        while count + best > len(pair_rows):
            pair_probes = longer(pair_probes)
            pair_rows = longer(pair_rows)
            pair_codes = _taller(pair_codes)
        for place in range(best):
            at = chosen[place]
            pair_probes[count] = probe
            pair_rows[count] = rows[near[at]]
            for k in range(dimensions):
                pair_codes[count, k] = codes[at, k]
            count += 1
    return Pairs(pair_probes[:count], pair_rows[:count], pair_codes[:count], comparisons)


@kernel
def best_of_runs(starts: NDArray[np.int64], codes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The pairs that no other pair of the same run dominates; run i is [starts[i], starts[i+1])."""
    kept = np.empty(len(codes), np.int64)
    longest = 0
    for run in range(len(starts) - 1):
        longest = max(longest, starts[run + 1] - starts[run])
    chosen, scores = np.empty(longest, np.int64), np.empty(longest, np.float64)
    count = 0
    for run in range(len(starts) - 1):
        start = starts[run]
        best = _best_first(codes, start, starts[run + 1] - start, chosen, scores, True)
        for place in range(best):
            kept[count] = start + chosen[place]
            count += 1
    return kept[:count]


@kernel
def _near(
    kind: int,
    limit: Any,
    wanted: int,
    right: NDArray[np.uint64],
    dimension: int,
    near: NDArray[np.int64],
    rows: int,
) -> int:
    """Moves those of near[:rows] that are within the limit in one dimension to the front; how many."""
    if kind in (FLOAT, SINGLE):
        limit = min(limit, INFINITY)  # the bits of a NaN are above it
    kept = 0
    for at in range(rows):
        row = near[at]
        near[kept] = row
        other = right[row, dimension]
        if kind == WINDOW:
            kept += (other >= wanted) & (other - wanted <= limit)
        else:
            kept += _code(kind, wanted, other) <= limit
    return kept


@kernel
def _code(kind: int, one: Any, other: Any) -> Any:
    """What a pair is worth in a dimension, less is better."""
    if kind == INTEGER:
        return one - other if one >= other else other - one
    if kind == YOUNGEST:
        return ~max(one, other)
    if kind == WINDOW:
        return np.uint64(0)
    apart = abs(np.uint64(one).view(np.float64) - np.uint64(other).view(np.float64))
    if kind == SINGLE:
        apart = np.float64(np.float32(apart))
    return np.float64(apart).view(np.uint64)


@kernel
def _best_first(
    codes: NDArray[np.uint64],
    start: int,
    pairs: int,
    chosen: NDArray[np.int64],
    scores: NDArray[np.float64],
    is_pruned: bool,  # noqa: FBT001
) -> int:
    """Puts the numbers of the best of some pairs first, counted from `start`; how many they are.

    chosen    [ best: 0 .. done | not dominated yet: done .. left | dominated, left out ]
    """
    for at in range(pairs):
        chosen[at] = at
        scores[at] = 0.0
    if not is_pruned:
        return pairs
    dimensions = codes.shape[1]
    for k in range(dimensions if pairs else 0):
        least = most = codes[start, k]
        for at in range(pairs):
            least = min(least, codes[start + at, k])
            most = max(most, codes[start + at, k])
        share = 1.0 / (np.float64(most - least) + 1.0)
        for at in range(pairs):
            scores[at] += np.float64(codes[start + at, k] - least) * share
    done, left = 0, pairs
    while done < left:
        pivot = _least(codes, start, chosen, scores, done, left)
        best, score = chosen[pivot], scores[pivot]
        chosen[pivot], scores[pivot] = chosen[done], scores[done]
        chosen[done], scores[done] = best, score
        done += 1
        kept, equals = done, 0
        for at in range(done, left):
            other = chosen[at]
            is_left, is_equal = False, True
            for k in range(dimensions):
                is_left |= codes[start + other, k] < codes[start + best, k]
                is_equal &= codes[start + other, k] == codes[start + best, k]
            # No branch: about half of them go, and no processor could guess which.
            chosen[kept], scores[kept] = other, scores[at]
            kept += is_left | is_equal
            equals += is_equal
        left = kept
        for at in range(done, left if equals else done):
            if _order(codes, start + chosen[at], start + best) == 0:
                chosen[at], chosen[done] = chosen[done], chosen[at]
                scores[at], scores[done] = scores[done], scores[at]
                done += 1
    return done


@kernel
def _least(
    codes: NDArray[np.uint64],
    start: int,
    chosen: NDArray[np.int64],
    scores: NDArray[np.float64],
    done: int,
    left: int,
) -> int:
    """The place of the pair that comes first by score, then by codes: none of these dominates it.

    What dominates another has no greater score, and no greater codes. Scores are rounded, and may be equal.
    """
    least, low, is_tied = done, np.inf, False
    for at in range(done, left):
        score = scores[at]
        is_tied = (score == low) | (is_tied & (score > low))
        least = at if score < low else least
        low = min(low, score)
    for at in range(least + 1, left if is_tied else 0):
        if scores[at] == low and _order(codes, start + chosen[at], start + chosen[least]) < 0:
            least = at
    return least


@kernel
def _order(codes: NDArray[np.uint64], one: int, other: int) -> int:
    """Below 0 where a pair comes before another by its codes, from left to right; 0 where all are equal."""
    for k in range(codes.shape[1]):
        if codes[one, k] != codes[other, k]:
            return -1 if codes[one, k] < codes[other, k] else 1
    return 0


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
    grown = np.empty((2 * pairs, dimensions), np.uint64)
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
