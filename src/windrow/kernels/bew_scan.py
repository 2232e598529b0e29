"""BEW-join without a key: the rows of a period, found by binary search and tested one by one.

Stored rows are in time order, so that those of a period lie side by side. All of them are
candidates; what narrows them are comparisons of a stored row's values with those of the probe:

    probe      [ low ........ high ]   wants  value 0 in [least, most],  value 1 outside of it
    times   --------[==================]----------->
                     candidates          only these are touched

Every test is a pass over what the one before left, without a branch that depends on the data: a
candidate's place is written, and the next one overwrites it unless it holds. About a nanosecond
per candidate and test.
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

Int64s = NDArray[np.int64]


class Queue(NamedTuple):
    """Stored rows in time order, the first `skip` of them dead.

    Attributes:
        times: their event times.
        skip: how many are dead.
        words: the words of their keys; empty where there is no key.
        values: one line per test, the rows' values.
        is_valid: whether a row has all these values; empty where every row has.
    """

    times: Int64s
    skip: int
    words: NDArray[np.uint64]
    values: Int64s
    is_valid: NDArray[np.bool_]


class Wanted(NamedTuple):
    """What probes ask of the values: one line per test, one number per probe.

    A value lies in [least, most]; where `is_outside`, in no case.
    """

    least: Int64s
    most: Int64s
    is_outside: NDArray[np.bool_]


@kernel
def scan_queue(
    queue: Queue, probes: Probes, tests: Wanted, base: int, found: FoundMatches, progress: Progress
) -> None:
    """Adds to `found` every queued row in a probe's period with its word that passes its tests.

    Args:
        queue: the stored rows.
        probes: what is looked for.
        tests: what their values must be.
        base: added to the row numbers.
        found: room for matches.
        progress: where to go on; see there.
    """
    times, rows = queue.times, found.rows
    n, at, filled = progress[PROBE], progress[AT], progress[FILLED]
    room = np.int64(len(rows))
    while n < len(probes.low) and filled < room:
        if at < 0:
            at = _first_from(times, np.int64(queue.skip), probes.low[n])
            progress[LOOKUPS] += 1
        stop = _first_from(times, at, probes.high[n] + 1) if probes.high[n] < _MOST else len(times)
        # No more candidates at once than there is room for, so that none needs to be checked.
        end = min(np.int64(stop), at + room - filled)
        kept = _kept(queue, probes, tests, n, at, end, rows[filled:])
        progress[TOUCHED] += max(end - at, np.int64(0))
        for place in range(filled, filled + kept):
            row = rows[place]
            found.probes[place] = n
            found.times[place] = times[row]
            rows[place] = base + row
        filled += kept
        at = end
        if at >= stop:
            at = np.int64(-1)
            n += 1
    progress[PROBE], progress[AT], progress[FILLED] = n, at, filled


_MOST = 2**63 - 1


@kernel
def _kept(
    queue: Queue,
    probes: Probes,
    tests: Wanted,
    n: np.int64,
    start: np.int64,
    end: np.int64,
    out: Int64s,
) -> np.int64:
    """Writes the rows from start to end that pass all tests of probe n; gives their number."""
    count = max(end - start, np.int64(0))
    for test in range(len(tests.least)):
        values = queue.values[test]
        least, most, is_outside = tests.least[test, n], tests.most[test, n], tests.is_outside[test]
        if least > most and not is_outside:
            return np.int64(0)
        if test == 0:
            count = _first_pass(values[start:end], start, least, most, is_outside, out)
        elif least <= most:
            count = _next_pass(values, least, most, is_outside, out[:count])
    if not len(tests.least):
        for row in range(start, end):
            out[row - start] = row
    if len(queue.words) > 0:
        left = 0
        for row in out[:count]:
            out[left] = row
            left += queue.words[row] == probes.words[n]
        count = np.int64(left)
    if len(queue.is_valid) > 0:
        left = 0
        for row in out[:count]:
            out[left] = row
            left += queue.is_valid[row]
        count = np.int64(left)
    return count


@kernel
def _first_pass(
    values: Int64s,
    start: np.int64,
    least: np.int64,
    most: np.int64,
    is_outside: bool,  # noqa: FBT001
    out: Int64s,
) -> np.int64:
    """The rows, numbered from `start`, whose values lie in [least, most], or outside of it.

    Counted from `least` upwards, without a sign, a value in the range is at most its width: one
    comparison instead of two. Nothing lies in a range of no width.
    """
    lowest, width = np.uint64(least), np.uint64(most) - np.uint64(least)
    is_empty = least > most
    count = np.uint64(0)
    for i in range(len(values)):
        out[count] = start + i
        is_in = (np.uint64(values[i]) - lowest <= width) & (not is_empty)
        count += np.uint64(is_in != is_outside)
    return np.int64(count)


@kernel
def _next_pass(
    values: Int64s,
    least: np.int64,
    most: np.int64,
    is_outside: bool,  # noqa: FBT001
    rows: Int64s,
) -> np.int64:
    """Those of the rows whose values lie in [least, most], or outside of it, moved to the front."""
    lowest, width = np.uint64(least), np.uint64(most) - np.uint64(least)
    count = np.uint64(0)
    for i in range(len(rows)):
        row = np.uint64(rows[i])
        rows[count] = rows[i]
        is_in = np.uint64(values[row]) - lowest <= width
        count += np.uint64(is_in != is_outside)
    return np.int64(count)


@kernel
def _first_from(times: Int64s, start: np.int64, low: np.int64) -> np.int64:
    """The first row from `start` on whose time is at least `low`."""
    left, right = start, np.int64(len(times))
    while left < right:
        middle = (left + right) >> 1
        if times[middle] < low:
            left = middle + 1
        else:
            right = middle
    return left
