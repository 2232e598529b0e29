"""BEW-join by hash: rows in buckets by key, in time order within each bucket.

    heads      0..k.. 2....j.m.   5.p..   6          one per bucket: its start, tags of its keys
    entries  [ k3 k9 | m1 j4 m4  | p7   | ... ]      word, time, row; keys may share a bucket,
                                                     times ascend within it

Words must be mixed (`keys.mixed_words`), for a word's top bits are its bucket. So buckets of
a large index refine those of a small one, and probes that come in the order of their own index
walk any other front to back.

Building is one stable counting sort, O(n). A probe finds its bucket at once, then the beginning
of its period by galloping from where the probe before it began: O(1) for probes in order, the
logarithm of the bucket at worst.

Most probes of a large window find nothing, for a window is several chunks. Those must be cheap:
a head holds one bit, out of 32, for each key of the bucket, so that nine in ten are turned away
without touching an entry. The rest wait for memory together (`_look_ahead`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bew_period import (
    AT,
    FILLED,
    LOOKUPS,
    PROBE,
    TOUCHED,
    FoundMatches,
    Probes,
    Progress,
)
from windrow.kernels.jit import kernel

ROWS_PER_BUCKET_BITS = 2
"""Buckets are made for 4 rows each."""

WORD, TIME, ROW = 0, 1, 2
"""The columns of an entry; words are kept as signed numbers of the same bits."""

AHEAD = 256
"""Probes whose memory is asked for together."""

START_SHIFT = np.uint64(32)
_ONE_ROW = np.uint64(1 << 32)
_TAGS = np.uint64((1 << 32) - 1)
_TAG_SHIFT = np.uint64(20)  # away from the top bits (buckets) and the low ones (routing)
_TAG_MASK = np.uint64(31)

Int64s = NDArray[np.int64]
Words = NDArray[np.uint64]


class Buckets(NamedTuple):
    """Rows grouped by key.

    Attributes:
        heads: per bucket, its start in the upper half, the tags of its keys in the lower; one
            more at the end.
        entries: one line per row.
        shift: what moves a word's top bits to the bucket's number.
    """

    heads: Words
    entries: Int64s
    shift: int


def buckets_of(words: Words, times: Int64s) -> Buckets:
    """The index of rows in ascending order of time."""
    bits = max(1, len(words).bit_length() - ROWS_PER_BUCKET_BITS)
    heads = np.zeros((1 << bits) + 1, np.uint64)
    index = Buckets(heads, np.empty((len(words), 3), np.int64), 64 - bits)
    fill_buckets(words, times, index)
    return index


@kernel
def fill_buckets(words: Words, times: Int64s, index: Buckets) -> None:
    """Sorts the rows into buckets, keeping their order within each (`heads` begins as zeros)."""
    shift = np.uint64(index.shift)
    heads, entries = index.heads, index.entries
    for n in range(len(words)):
        home = words[n] >> shift
        heads[home] |= tag(words[n])
        heads[home + np.uint64(1)] += _ONE_ROW
    for bucket in range(1, len(heads)):
        heads[bucket] += heads[bucket - 1] & ~_TAGS
    # The start of bucket b serves as its next free place, and so ends as the start of b + 1.
    for n in range(len(words)):
        home = words[n] >> shift
        place = heads[home] >> START_SHIFT
        heads[home] += _ONE_ROW
        entries[place, WORD] = np.int64(words[n])
        entries[place, TIME] = times[n]
        entries[place, ROW] = n
    for bucket in range(len(heads) - 1, 0, -1):
        heads[bucket] = (heads[bucket - 1] & ~_TAGS) | (heads[bucket] & _TAGS)
    heads[0] &= _TAGS


@kernel
def tag(word: np.uint64) -> np.uint64:
    """The bit that a key leaves in the head of its bucket."""
    return np.uint64(1) << ((word >> _TAG_SHIFT) & _TAG_MASK)


@kernel
def probe_buckets(
    index: Buckets,
    probes: Probes,
    span: tuple[int, int],
    base: int,
    found: FoundMatches,
    progress: Progress,
) -> None:
    """Adds to `found` every indexed row with a probe's word and a time within its period.

    Args:
        index: the stored rows.
        probes: what is looked for.
        span: the least and greatest time alive; rows below it are dead.
        base: added to the row numbers.
        found: room for matches.
        progress: where to go on; see there.
    """
    entries = index.entries
    n, at, filled = progress[PROBE], progress[AT], progress[FILLED]
    lookups, touched = 0, 0
    room = len(found.rows)
    ahead = np.empty((AHEAD, 4), np.int64)
    last_start, last_at = np.int64(-1), np.int64(0)
    is_full = False
    while n < len(probes.words) and not is_full:
        next_block = min(n + AHEAD, len(probes.words))
        for candidate in range(_look_ahead(index, probes, n, next_block, span, ahead)):
            n, start, stop, earliest = ahead[candidate]
            low, high = max(probes.low[n], span[0]), probes.high[n]
            if earliest > high:
                continue
            word = np.int64(probes.words[n])
            if at < 0:
                lookups += 1
                near = last_at if start == last_start else start
                at = first_from(entries, start, stop, near, low)
                last_start, last_at = start, at
            while at < stop and entries[at, TIME] <= high:
                if entries[at, WORD] == word:
                    if filled == room:
                        is_full = True  # the match at `at` comes first in the next call
                        break
                    found.probes[filled] = n
                    found.rows[filled] = base + entries[at, ROW]
                    found.times[filled] = entries[at, TIME]
                    filled += 1
                touched += 1
                at += 1
            if is_full:
                break
            at = np.int64(-1)
        if not is_full:
            n = next_block
    progress[PROBE], progress[AT], progress[FILLED] = n, at, filled
    progress[LOOKUPS] += lookups
    progress[TOUCHED] += touched


@kernel
def _look_ahead(
    index: Buckets,
    probes: Probes,
    first: np.int64,
    stop: np.int64,
    span: tuple[int, int],
    ahead: Int64s,
) -> np.int64:
    """Notes the probes, from first to stop, that may find something; gives their number.

    For each: the probe, where its bucket starts and stops, and the earliest time there. No branch
    depends on the data, which the processor could not foresee.
    """
    shift = np.uint64(index.shift)
    count = np.int64(0)
    for n in range(first, stop):
        word = probes.words[n]
        ahead[count, 0] = n
        is_tagged = (index.heads[word >> shift] & tag(word)) != 0
        in_span = max(probes.low[n], span[0]) <= min(probes.high[n], span[1])
        count += np.int64(is_tagged) & np.int64(in_span)
    for candidate in range(count):
        bucket = probes.words[ahead[candidate, 0]] >> shift
        start = index.heads[bucket] >> START_SHIFT
        ahead[candidate, 1] = np.int64(start)
        ahead[candidate, 2] = np.int64(index.heads[bucket + np.uint64(1)] >> START_SHIFT)
        ahead[candidate, 3] = index.entries[start, TIME]
    return count


@kernel
def first_from(
    entries: Int64s, start: np.int64, stop: np.int64, near: np.int64, low: np.int64
) -> np.int64:
    """The first entry in [start, stop) whose time is at least `low`, searched around `near`."""
    step = np.int64(1)
    if near < stop and entries[near, TIME] < low:
        left, right = near, near + 1  # left is before `low`
        while right < stop and entries[right, TIME] < low:
            left = right
            right += step
            step *= 2
        right = min(right, stop)
        left += 1
    else:
        right, left = near, near - 1  # right is not before `low`, or is the stop
        while left >= start and entries[left, TIME] >= low:
            right = left
            left -= step
            step *= 2
        left = max(left + 1, start)
    while left < right:
        middle = (left + right) >> 1
        if entries[middle, TIME] < low:
            left = middle + 1
        else:
            right = middle
    return left
