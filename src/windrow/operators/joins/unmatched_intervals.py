"""When a row stands alone, from the times at which it has company.

A row is alive from its time to its end; a match of it is alive, with it, for a part of that. Joined
at one instant, the row is matched, or stands alone:

    the row          t |============================| end
    first match           |=========|
    second match                |=======|
    third match                                |====|
    in company            |=============|      |====|
    alone            t |==|             |======|

All functions take and give intervals [start, stop) as arrays, many rows at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class Intervals(NamedTuple):
    """Intervals of rows: `rows` says whose each is; a row may have none, or several."""

    rows: Numbers
    starts: Numbers
    stops: Numbers

    def take(self, chosen: Numbers) -> Intervals:
        """The intervals at some positions."""
        return Intervals(self.rows[chosen], self.starts[chosen], self.stops[chosen])


def together(intervals: Intervals) -> Intervals:
    """The same instants in as few intervals as possible, ordered by row and start."""
    if not len(intervals.rows):
        return intervals
    ordered = intervals.take(np.lexsort((intervals.starts, intervals.rows)))
    reached = _reached(ordered)
    is_first = np.ones(len(reached), np.bool_)
    is_first[1:] = (ordered.rows[1:] != ordered.rows[:-1]) | (ordered.starts[1:] > reached[:-1])
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(reached)) - 1
    return Intervals(ordered.rows[firsts], ordered.starts[firsts], reached[lasts])


def between(intervals: Intervals, times: Numbers, ends: Numbers) -> Intervals:
    """The instants of each row's life that no interval of its covers.

    Args:
        intervals: as `together` gives them, each within the life of its row.
        times: per row, when its life begins.
        ends: per row, when it ends.
    """
    count = len(times)
    # The edges of a row's gaps, in order: its time, start and stop of each interval, its end.
    rows = np.concatenate([np.arange(count), intervals.rows])
    opens = np.concatenate([times, intervals.stops])
    order = np.lexsort((opens, rows))
    rows, opens = rows[order], opens[order]
    closes = np.concatenate([intervals.starts, ends])
    closes = closes[np.lexsort((closes, np.concatenate([intervals.rows, np.arange(count)])))]
    return Intervals(rows, opens, closes).take(np.flatnonzero(opens < closes))


def _reached(ordered: Intervals) -> Numbers:
    """The greatest stop so far among the intervals of the same row.

    By a running maximum over (row, rank of the stop) in one number: a later row exceeds all.
    """
    by_stop = np.argsort(ordered.stops, kind="stable")
    count = len(by_stop)
    ranks = np.empty(count, np.int64)
    ranks[by_stop] = np.arange(count)
    numbers = np.cumsum(np.concatenate([[0], ordered.rows[1:] != ordered.rows[:-1]]))
    greatest = np.maximum.accumulate(numbers * count + ranks) % count
    stops: Numbers = ordered.stops[by_stop[greatest]]
    return stops
