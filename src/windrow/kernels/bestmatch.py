"""The best pairs of each left row: candidates found in an index, dominated ones left out.

Contract. A value of a dimension is a uint64: an int64 shifted up by 2^63, which keeps order and
differences, or the 64 bits of a double. A distance is the absolute difference as a uint64: exact
for integers, and for floats the bits of the double, which order as the doubles themselves do since
none is negative. So distances of every kind compare as plain integers. No value is NULL or NaN:
callers leave such rows out. A distance that is NaN (infinity less infinity) makes no candidate.

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

from windrow.kernels._jit import kernel

NO_LIMIT = 2**64 - 1
"""The limit of a dimension without a constraint: no distance is above it."""


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

    is_float: NDArray[np.bool_]
    limits: NDArray[np.uint64]


class Pairs(NamedTuple):
    """Pairs of a probe and an indexed row, by probe, with their distances."""

    probes: NDArray[np.int64]
    rows: NDArray[np.int64]
    distances: NDArray[np.uint64]  # one row per pair, one column per dimension
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
    distances = np.empty((257, left.shape[1]), np.uint64)
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
            at = _next_candidate(wanted, right, at, stop, measures, distances, count)
            while at < stop:
                place = count
                if is_pruned:
                    place = _place(pair_rows, distances, skyline, count)
                if place >= 0:
                    pair_probes[place] = probe
                    pair_rows[place] = rows[at]
                    count = place + 1
                if count == len(pair_rows):
                    pair_probes = _longer(pair_probes)
                    pair_rows = _longer(pair_rows)
                    distances = _taller(distances)
                at = _next_candidate(wanted, right, at + 1, stop, measures, distances, count)
            group += 1
    return Pairs(pair_probes[:count], pair_rows[:count], distances[:count], comparisons)


@kernel
def best_of_runs(starts: NDArray[np.int64], distances: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The pairs that no other pair of the same run dominates; run i is [starts[i], starts[i+1])."""
    kept = np.empty(len(distances), np.int64)
    ranked = np.empty((len(distances) + 1, distances.shape[1]), np.uint64)
    count = 0
    for run in range(len(starts) - 1):
        skyline = count
        for pair in range(starts[run], starts[run + 1]):
            for k in range(distances.shape[1]):
                ranked[count, k] = distances[pair, k]
            place = _place(kept, ranked, skyline, count)
            if place >= 0:
                kept[place] = pair
                count = place + 1
    return kept[:count]


@kernel
def _place(
    rows: NDArray[np.int64], distances: NDArray[np.uint64], skyline: int, candidate: int
) -> int:
    """Where the candidate, measured after the skyline, joins it; -1 when it is dominated.

    What it dominates is moved behind that place:

        [ skyline ............ | place: the candidate | dominated, or free ]
    """
    dimensions = distances.shape[1]
    last = candidate
    at = skyline
    while at < last:
        is_better = False  # the pair at `at`, than the candidate
        is_worse = False
        for k in range(dimensions):
            if distances[at, k] < distances[candidate, k]:
                is_better = True
            elif distances[at, k] > distances[candidate, k]:
                is_worse = True
        if is_better and is_worse:
            at += 1
        elif is_worse:
            last -= 1
            _swap(rows, distances, at, last)
        else:
            _swap(rows, distances, skyline, at)
            return -1 if is_better else last
    if last < candidate:
        _swap(rows, distances, last, candidate)
    return last


@kernel
def _next_candidate(
    wanted: NDArray[np.uint64],
    right: NDArray[np.uint64],
    start: int,
    stop: int,
    measures: Measures,
    distances: NDArray[np.uint64],
    pair: int,
) -> int:
    """The first right row in [start, stop) within every limit, its distances written; or stop."""
    is_float, limits = measures
    for row in range(start, stop):
        near = 0
        for k in range(len(limits)):
            one, other = wanted[k], right[row, k]
            if is_float[k]:
                apart = abs(np.uint64(one).view(np.float64) - np.uint64(other).view(np.float64))
                if np.isnan(apart):
                    break
                distance = np.float64(apart).view(np.uint64)
            else:
                distance = one - other if one >= other else other - one
            if distance > limits[k]:
                break
            distances[pair, k] = distance
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
def _swap(rows: NDArray[np.int64], distances: NDArray[np.uint64], one: int, other: int) -> None:
    rows[one], rows[other] = rows[other], rows[one]
    for k in range(distances.shape[1]):
        distances[one, k], distances[other, k] = distances[other, k], distances[one, k]


@kernel
def _longer(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    # By loop, here and below: to assign a slice takes numba seconds to compile.
    grown = np.empty(2 * len(numbers), np.int64)
    for at in range(len(numbers)):
        grown[at] = numbers[at]
    return grown


@kernel
def _taller(distances: NDArray[np.uint64]) -> NDArray[np.uint64]:
    pairs, dimensions = distances.shape
    grown = np.empty((2 * pairs - 1, dimensions), np.uint64)
    for at in range(pairs):
        for k in range(dimensions):
            grown[at, k] = distances[at, k]
    return grown
