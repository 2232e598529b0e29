"""BEW-join by hash: rows in buckets by key, in time order within each bucket.

    starts    0     2        5     6                 one bucket after another
    words   [ k k | m j m  | p |  ... ]              keys may share a bucket
    times   [ 3 9 | 1 4 4  | 7 |  ... ]              ascending within a bucket
    rows    [ 5 8 | 0 6 7  | 2 |  ... ]              where the row is in its chunk

The bucket of a word is the top bits of its mixed form. So buckets of a large index refine those
of a small one, and probes that come in the order of their own index walk any other front to back.

Building is one stable counting sort, O(n). A probe finds its bucket at once, then the beginning
of its period by galloping from where the probe before it began: O(1) for probes in order, the
logarithm of the bucket at worst.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels._jit import kernel
from windrow.kernels.bew_period import Found, Probes, Progress
from windrow.kernels.key_words import mixed

ROWS_PER_BUCKET_BITS = 2
"""Buckets are made for 4 rows each."""


class Buckets(NamedTuple):
    """Rows grouped by key; `shift` moves a mixed word's top bits to the bucket's number."""

    starts: NDArray[np.int32]
    words: NDArray[np.uint64]
    times: NDArray[np.int64]
    rows: NDArray[np.int32]
    shift: int


def buckets_of(words: NDArray[np.uint64], times: NDArray[np.int64]) -> Buckets:
    """The index of rows in ascending order of time."""
    bits = max(1, len(words).bit_length() - ROWS_PER_BUCKET_BITS)
    size = len(words)
    index = Buckets(
        np.zeros((1 << bits) + 1, np.int32),
        np.empty(size, np.uint64),
        np.empty(size, np.int64),
        np.empty(size, np.int32),
        64 - bits,
    )
    fill_buckets(words, times, index)
    return index


@kernel
def fill_buckets(words: NDArray[np.uint64], times: NDArray[np.int64], index: Buckets) -> None:
    """Sorts the rows into buckets, keeping their order within each (`starts` begins as zeros)."""
    shift = np.uint64(index.shift)
    starts = index.starts
    for n in range(len(words)):
        starts[np.int64(mixed(words[n]) >> shift) + 1] += 1
    for bucket in range(1, len(starts)):
        starts[bucket] += starts[bucket - 1]
    # starts[b] serves as the next free place of bucket b, and so ends as the start of b + 1.
    for n in range(len(words)):
        home = np.int64(mixed(words[n]) >> shift)
        place = starts[home]
        starts[home] = place + 1
        index.words[place] = words[n]
        index.times[place] = times[n]
        index.rows[place] = n
    for bucket in range(len(starts) - 1, 0, -1):
        starts[bucket] = starts[bucket - 1]
    starts[0] = 0


@kernel
def probe_buckets(
    index: Buckets,
    probes: Probes,
    span: tuple[int, int],
    base: int,
    found: Found,
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
    shift = np.uint64(index.shift)
    starts, words, times, rows = index.starts, index.words, index.times, index.rows
    n, at, filled = progress.probe[0], progress.at[0], progress.filled[0]
    lookups, touched = 0, 0
    room = len(found.rows)
    last_bucket, last_at = np.int64(-1), np.int64(0)
    while n < len(probes.words):
        low, high = max(probes.low[n], span[0]), probes.high[n]
        if low > high or high < span[0] or low > span[1]:
            n += 1
            continue
        word = probes.words[n]
        bucket = np.int64(mixed(word) >> shift)
        start, stop = np.int64(starts[bucket]), np.int64(starts[bucket + 1])
        if at < 0:
            lookups += 1
            near = last_at if bucket == last_bucket else start
            at = _first_from(times, start, stop, near, low)
            last_bucket, last_at = bucket, at
        while at < stop and times[at] <= high:
            if words[at] == word:
                if filled == room:
                    break
                found.probes[filled] = n
                found.rows[filled] = base + rows[at]
                found.times[filled] = times[at]
                filled += 1
            touched += 1
            at += 1
        if at < stop and times[at] <= high:
            break  # no room left: the match at `at` comes first in the next call
        at = np.int64(-1)
        n += 1
    progress.probe[0], progress.at[0], progress.filled[0] = n, at, filled
    progress.lookups[0] += lookups
    progress.touched[0] += touched


@kernel
def _first_from(
    times: NDArray[np.int64], start: np.int64, stop: np.int64, near: np.int64, low: np.int64
) -> np.int64:
    """The first position in [start, stop) whose time is at least `low`, searched around `near`."""
    step = np.int64(1)
    if near < stop and times[near] < low:
        left, right = near, near + 1  # times[left] < low
        while right < stop and times[right] < low:
            left = right
            right += step
            step *= 2
        right = min(right, stop)
        left += 1
    else:
        right, left = near, near - 1  # times[right] >= low, or right == stop
        while left >= start and times[left] >= low:
            right = left
            left -= step
            step *= 2
        left = max(left + 1, start)
    while left < right:
        middle = (left + right) >> 1
        if times[middle] < low:
            left = middle + 1
        else:
            right = middle
    return left
