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

_DOMINATES, _NEITHER, _DOMINATED, _EQUAL = -1, 0, 1, 2


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
    pair_probes = np.empty(256, np.int64)
    pair_rows = np.empty(256, np.int64)
    # One row more than pairs: a candidate is measured in the row after the last pair.
    distances = np.empty((257, len(measures.limits)), np.uint64)
    count = 0
    comparisons = 0
    for probe in range(len(probes.first_time)):
        skyline = count  # the pairs of this probe: [skyline, count)
        wanted = probes.values[probe]
        last_time = probes.last_time[probe]
        group = _lower_bound(index.groups, 0, len(index.groups), probes.first_group[probe])
        while group < len(index.groups) and index.groups[group] <= probes.last_group[probe]:
            stop = index.starts[group + 1]
            at = _lower_bound(index.times, index.starts[group], stop, probes.first_time[probe])
            while at < stop and index.times[at] <= last_time:
                comparisons += 1
                if _is_candidate(wanted, index.values[at], measures, distances[count]):
                    place = _place(pair_rows, distances, skyline, count) if is_pruned else count
                    if place >= 0:
                        pair_probes[place] = probe
                        pair_rows[place] = index.rows[at]
                        count = place + 1
                if count == len(pair_rows):
                    pair_probes = _longer(pair_probes)
                    pair_rows = _longer(pair_rows)
                    distances = _taller(distances)
                at += 1
            group += 1
    return Pairs(
        pair_probes[:count].copy(), pair_rows[:count].copy(), distances[:count].copy(), comparisons
    )


@kernel
def best_of_runs(starts: NDArray[np.int64], distances: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The pairs that no other pair of the same run dominates; run i is [starts[i], starts[i+1])."""
    kept = np.empty(len(distances), np.int64)
    ranked = np.empty((len(distances) + 1, distances.shape[1]), np.uint64)
    count = 0
    for run in range(len(starts) - 1):
        skyline = count
        for pair in range(starts[run], starts[run + 1]):
            ranked[count] = distances[pair]
            place = _place(kept, ranked, skyline, count)
            if place >= 0:
                kept[place] = pair
                count = place + 1
    return kept[:count].copy()


@kernel
def _place(
    rows: NDArray[np.int64], distances: NDArray[np.uint64], skyline: int, candidate: int
) -> int:
    """Where the candidate, measured after the skyline, joins it; -1 when it is dominated.

    What it dominates is moved behind that place:

        [ skyline ............ | place: the candidate | dominated, or free ]
    """
    last = candidate
    at = skyline
    while at < last:
        order = _order(distances[at], distances[candidate])
        if order in (_DOMINATES, _EQUAL):
            _swap(rows, distances, skyline, at)
            return -1 if order == _DOMINATES else last
        if order == _DOMINATED:
            last -= 1
            _swap(rows, distances, at, last)
        else:
            at += 1
    if last < candidate:
        distances[last] = distances[candidate]
    return last


@kernel
def _order(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> int:
    """Whether the one dominates the other, is dominated by it, equals it, or neither."""
    is_better = False
    is_worse = False
    for k in range(len(one)):
        if one[k] < other[k]:
            is_better = True
        elif one[k] > other[k]:
            is_worse = True
    if is_better and is_worse:
        return _NEITHER
    if is_better:
        return _DOMINATES
    return _DOMINATED if is_worse else _EQUAL


@kernel
def _is_candidate(
    left: NDArray[np.uint64],
    right: NDArray[np.uint64],
    measures: Measures,
    distances: NDArray[np.uint64],
) -> bool:
    """Writes the distances of one pair; false as soon as one is above its limit."""
    for k in range(len(measures.limits)):
        if measures.is_float[k]:
            difference = abs(left.view(np.float64)[k] - right.view(np.float64)[k])
            if np.isnan(difference):
                return False
            distances.view(np.float64)[k] = difference
        elif left[k] >= right[k]:
            distances[k] = left[k] - right[k]
        else:
            distances[k] = right[k] - left[k]
        if distances[k] > measures.limits[k]:
            return False
    return True


@kernel
def _lower_bound(keys: NDArray[Any], start: int, stop: int, key: int) -> int:
    """The first place in [start, stop) whose key is not below `key`."""
    while start < stop:
        middle = (start + stop) // 2
        if keys[middle] < key:
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
    grown = np.empty(2 * len(numbers), np.int64)
    grown[: len(numbers)] = numbers
    return grown


@kernel
def _taller(distances: NDArray[np.uint64]) -> NDArray[np.uint64]:
    grown = np.empty((2 * len(distances) - 1, distances.shape[1]), np.uint64)
    grown[: len(distances)] = distances
    return grown
