"""BEW-join by nested loop: every buffered tuple of the next stream is tested.

As published (2003, section 3.1): the join buffers are queues, and a partial combination scans the
whole queue of the next stream, testing each tuple's time against the period and then its key.
O(probes x stored rows), and no index to build or keep.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels._jit import kernel
from windrow.kernels.bew_period import (
    AT,
    FILLED,
    LOOKUPS,
    PROBE,
    TOUCHED,
    Found,
    Probes,
    Progress,
)


class Queue(NamedTuple):
    """Stored rows in time order, the first `skip` of them dead."""

    words: NDArray[np.uint64]
    times: NDArray[np.int64]
    skip: int


@kernel
def scan_queue(queue: Queue, probes: Probes, base: int, found: Found, progress: Progress) -> None:
    """Adds to `found` every queued row with a probe's word and a time within its period.

    The contract is that of `probe_buckets`.
    """
    words, times = queue.words, queue.times
    n, at, filled = progress[PROBE], progress[AT], progress[FILLED]
    room = len(found.rows)
    while n < len(probes.words):
        low, high, word = probes.low[n], probes.high[n], probes.words[n]
        if at < 0:
            at = np.int64(queue.skip)
            progress[LOOKUPS] += 1
        while at < len(times):
            if low <= times[at] <= high and words[at] == word:
                if filled == room:
                    break
                found.probes[filled] = n
                found.rows[filled] = base + at
                found.times[filled] = times[at]
                filled += 1
            progress[TOUCHED] += 1
            at += 1
        if at < len(times):
            break  # no room left: the match at `at` comes first in the next call
        at = np.int64(-1)
        n += 1
    progress[PROBE], progress[AT], progress[FILLED] = n, at, filled
