"""Rows that are alive together with others, found by their ends and their starts.

Rows lie in buckets by key, in the order of their ends within each (`bew_hash`). A probe that is
alive in [since, until) meets the rows of its key that end after `since` and start before `until`:

    probe              since |=============| until
    ends too early  |=====|                            before the first place that is looked at
    is met              |=======|   |====|
    starts too late                        |=======|   stepped over, however many there are

The first is a search in ends. For the second a tree has the least start of every stretch of places:
from one row that is met the next is found without looking at those between, so that a probe costs
what it meets, times the logarithm of the rows. The versions of one row, of which only one is
alive at a time, are met by as few as overlap, whatever lies between.

    least start of       0..7                 tree[1]
                    0..3      4..7            tree[2], tree[3]
                  0..1 2..3 4..5 6..7
    places        0  1 2  3 4  5 6  7         tree[size + place]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bew_hash import ROW, START_SHIFT, TIME, WORD, Buckets, first_from, tag
from windrow.kernels.bew_period import AT, FILLED, LOOKUPS, PROBE, TOUCHED, FoundMatches, Progress
from windrow.kernels.bew_scan import Queue, Wanted
from windrow.kernels.jit import kernel, lean_kernel_part

Int64s = NDArray[np.int64]

_NEVER = 2**63 - 1


class AliveIndex(NamedTuple):
    """Rows in buckets by key, in the order of their ends, with the least starts of stretches.

    Attributes:
        buckets: the rows; the times of its entries are ends.
        tree: the least start of each stretch of entries.
    """

    buckets: Buckets
    tree: Int64s


class AliveProbes(NamedTuple):
    """What is looked for: `Probes`, whose periods are those in which a row may end, and more.

    `untils` are the instants before which a row must start.
    """

    words: NDArray[np.uint64]
    low: Int64s
    high: Int64s
    untils: Int64s


class RowTests(NamedTuple):
    """The values that are tested, by row, and what each probe wants of them."""

    queue: Queue
    wanted: Wanted


def alive_index(buckets: Buckets, starts: Int64s) -> AliveIndex:
    """The index of rows in buckets, given when each row starts."""
    size = 1 << max(0, len(starts) - 1).bit_length()
    tree = np.full(2 * size, _NEVER, np.int64)
    tree[size : size + len(starts)] = starts[buckets.entries[:, ROW]]
    fill_tree(tree)
    return AliveIndex(buckets, tree)


@kernel
def fill_tree(tree: Int64s) -> None:
    """Makes the upper levels from the lowest."""
    for node in range(len(tree) // 2 - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])


@lean_kernel_part
def next_before(tree: Int64s, at: np.int64, until: np.int64) -> np.int64:
    """The first place from `at` on whose start is before an instant; as many as there are, if none."""
    size = np.int64(len(tree) // 2)
    if at >= size:
        return size
    node = at + size
    while tree[node] >= until:
        while node & 1:  # a right child: go on beside its parent
            node >>= 1
        if node == 0:
            return size
        node += 1
    while node < size:
        node *= 2
        if tree[node] >= until:
            node += 1
    return node - size


@kernel
def probe_alive(
    index: AliveIndex,
    probes: AliveProbes,
    tests: RowTests,
    span: tuple[int, int],
    base: int,
    found: FoundMatches,
    progress: Progress,
) -> None:
    """Adds to `found` every row with a probe's word that is alive with it and passes its tests.

    Args:
        index: the rows.
        probes: what is looked for.
        tests: what values they want.
        span: the least and the greatest end there is; rows below it are dead.
        base: added to the row numbers.
        found: room for matches.
        progress: where to go on; see there.
    """
    heads, entries, tree = index.buckets.heads, index.buckets.entries, index.tree
    shift = np.uint64(index.buckets.shift)
    n, at, filled = progress[PROBE], progress[AT], progress[FILLED]
    lookups, touched = 0, 0
    is_full = False
    while n < len(probes.words):
        word = probes.words[n]
        low, high = max(probes.low[n], span[0]), min(probes.high[n], span[1])
        home = word >> shift
        if low <= high and (heads[home] & tag(word)) != 0:
            stop = np.int64(heads[home + np.uint64(1)] >> START_SHIFT)
            if at < 0:
                lookups += 1
                start = np.int64(heads[home] >> START_SHIFT)
                at = next_before(
                    tree, first_from(entries, start, stop, start, low), probes.untils[n]
                )
            while at < stop and entries[at, TIME] <= high:
                touched += 1
                row = entries[at, ROW]
                if entries[at, WORD] == np.int64(word) and _passes(tests, n, row):
                    if filled == len(found.rows):
                        is_full = True  # the match at `at` comes first in the next call
                        break
                    found.probes[filled] = n
                    found.rows[filled] = base + row
                    found.times[filled] = entries[at, TIME]
                    filled += 1
                at = next_before(tree, at + 1, probes.untils[n])
            if is_full:
                break
        at = np.int64(-1)
        n += 1
    progress[PROBE], progress[AT], progress[FILLED] = n, at, filled
    progress[LOOKUPS] += lookups
    progress[TOUCHED] += touched


@lean_kernel_part
def _passes(tests: RowTests, n: np.int64, row: np.int64) -> bool:
    """Whether a row passes all tests of probe n."""
    queue, wanted = tests
    if len(queue.is_valid) > 0 and not queue.is_valid[row]:
        return False
    for test in range(len(wanted.least)):
        value = queue.values[test, row]
        is_in = wanted.least[test, n] <= value <= wanted.most[test, n]
        if is_in == wanted.is_outside[test]:
            return False
    return True
