"""Streams as an experiment has them, and the orders in which an operator may take their tuples.

live      tuples are taken as they come: all streams in one order of time
replayed  tuples are there already (a log, or a backlog that an operator cannot work off) and
          sources are polled in turn, a tuple each, whatever their times

live, rates 2:1          a a b a a b a a b        times stay side by side
replayed, rates 2:1      a b a b a b a b a b      b runs ahead of a, further and further
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.keys import mixed_words
from windrow.kernels.tuple_at_a_time.tape import Tape

Int64s = NDArray[np.int64]

SECOND = 1_000_000
"""Ticks per second."""

HOUR = 3_600 * SECOND


@dataclass(frozen=True)
class Streams:
    """Event times and keys of each stream, in order of time."""

    times: tuple[Int64s, ...]
    keys: tuple[Int64s, ...]

    def __len__(self) -> int:
        """How many streams there are."""
        return len(self.times)

    @property
    def tuples(self) -> int:
        """How many tuples all streams have."""
        return sum(map(len, self.times))

    def tape(self) -> Tape:
        """The streams one after the other; the key is the only key class."""
        first = np.cumsum([0, *map(len, self.times)]).astype(np.int64)
        words = mixed_words(np.concatenate(self.keys).astype(np.uint64))
        return Tape(np.concatenate(self.times), words.reshape(-1, 1), first)

    def live(self) -> Int64s:
        """Whose tuple is taken, turn by turn, in order of time; equal times by stream."""
        owners = np.repeat(np.arange(len(self)), [len(times) for times in self.times])
        order = np.argsort(np.concatenate(self.times), kind="stable")
        return owners[order].astype(np.int64)

    def replayed(self) -> Int64s:
        """Whose tuple is taken when sources are polled in turn; one that has ended is passed."""
        positions = np.concatenate([np.arange(len(times)) for times in self.times])
        owners = np.repeat(np.arange(len(self)), [len(times) for times in self.times])
        order = np.lexsort((owners, positions))
        return owners[order].astype(np.int64)

    def arrivals(self) -> Int64s:
        """The event times in order of time, which are the times of arrival of live streams."""
        return np.sort(np.concatenate(self.times), kind="stable")

    def until(self, tick: int) -> Streams:
        """The tuples up to and including an instant."""
        cuts = [int(np.searchsorted(times, tick, side="right")) for times in self.times]
        times = tuple(times[:cut] for times, cut in zip(self.times, cuts, strict=True))
        keys = tuple(keys[:cut] for keys, cut in zip(self.keys, cuts, strict=True))
        return Streams(times, keys)

    def twice(self, period: int) -> Streams:
        """The same tuples, and all of them once more a period later."""
        times = tuple(np.concatenate((times, times + period)) for times in self.times)
        return Streams(times, tuple(np.tile(keys, 2) for keys in self.keys))

    def tables(self) -> dict[str, pa.Table]:
        """The streams as Arrow tables (ts, k), named a, b, c and so on."""
        return {
            chr(ord("a") + number): pa.table(
                {"ts": pa.array(times).cast(pa.timestamp("us", "UTC")), "k": keys}
            )
            for number, (times, keys) in enumerate(zip(self.times, self.keys, strict=True))
        }


def split(times: Int64s, keys: Int64s, owners: Int64s, streams: int) -> Streams:
    """Tuples of many sources, in order of time, as so many streams."""
    order = np.argsort(owners, kind="stable")
    ends = np.searchsorted(owners[order], np.arange(streams + 1))
    parts = [order[start:end] for start, end in pairwise(ends)]
    return Streams(tuple(times[part] for part in parts), tuple(keys[part] for part in parts))
