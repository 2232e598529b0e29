"""What window joins must do, counted by plain loops over lists.

One key that all streams have; streams in time order, taken in any order of arrival. A tuple is
(time, key). Each algorithm is written down once more, after its paper, and adds up what `tape.py`
lists: look-ups, tuples looked at, comparisons of times and of keys, drops, results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    FOUND,
    KEY_TESTS,
    NARROWINGS,
    PROBES,
    TOUCHED,
    UPDATES,
    WINDOW_TESTS,
)

Row = tuple[int, int]
Bounds = list[list[float]]
"""Per ordered pair (i, j), the largest t(j) - t(i); inf for none."""


@dataclass(frozen=True)
class Input:
    """Streams, whose turn it is, and the bounds: closed ones, and those stated."""

    streams: list[list[Row]]
    turns: list[int]
    closed: Bounds
    stated: Bounds

    def arrivals(self) -> Iterator[tuple[int, Row]]:
        """Every tuple in its turn, with its stream."""
        rows = [iter(stream) for stream in self.streams]
        for stream in self.turns:
            yield stream, next(rows[stream])


class LoopTwin:
    """What the algorithms have in common that join a tuple on arrival, level by level."""

    def __init__(self, given: Input) -> None:
        self.given = given
        self.size = len(given.streams)
        self.upper = given.closed
        self.work = [0] * (NARROWINGS + 1)
        self.buffers: list[list[Row]] = [[] for _ in given.streams]
        self.newest = [-inf] * self.size

    def run(self) -> list[int]:
        """The work of all arrivals."""
        for stream, row in self.given.arrivals():
            self.before_arrival()
            self.buffers[stream].append(row)
            self.newest[stream] = max(self.newest[stream], row[0])
            self.after_arrival(stream, row)
            self.descend([(stream, row)])
        self.before_arrival()
        return self.work

    def before_arrival(self) -> None:
        """What an algorithm does between two tuples."""

    def after_arrival(self, stream: int, row: Row) -> None:
        """What it does with a tuple just taken, before it is joined."""

    def next_stream(self, chosen: list[tuple[int, Row]]) -> int:
        """The stream of the next level: round robin."""
        return (chosen[0][0] + len(chosen)) % self.size

    def period(self, stream: int, chosen: list[tuple[int, Row]]) -> tuple[float, float]:
        """Where a tuple of a stream is within the bounds of all those chosen."""
        low = max(row[0] - self.upper[stream][other] for other, row in chosen)
        high = min(row[0] + self.upper[other][stream] for other, row in chosen)
        return low, high

    def horizon(self, stream: int) -> float:
        """Before this time nothing to come can meet a stream's tuple."""
        reach = self.given.closed[stream]
        return min(self.newest[i] - reach[i] for i in range(self.size) if i != stream)

    def candidates(self, stream: int, key: int) -> list[Row]:
        """What a level goes through."""
        del key
        return list(self.buffers[stream])

    def descend(self, chosen: list[tuple[int, Row]]) -> None:
        """One level: a look-up, and every candidate of it."""
        if len(chosen) == self.size:
            self.work[FOUND] += 1
            return
        self.work[PROBES] += 1
        stream, key = self.next_stream(chosen), chosen[0][1][1]
        for row in self.candidates(stream, key):
            self.work[TOUCHED] += 1
            if self.is_met(stream, row, chosen):
                self.work[KEY_TESTS] += 1
                if row[1] == key:
                    self.descend([*chosen, (stream, row)])

    def is_met(self, stream: int, row: Row, chosen: list[tuple[int, Row]]) -> bool:
        """BEW: a tuple that is past its time is dropped, others are held against the period."""
        if row[0] < self.horizon(stream):
            self.drop(stream, row)
            return False
        self.work[WINDOW_TESTS] += 1
        low, high = self.period(stream, chosen)
        return low <= row[0] <= high

    def drop(self, stream: int, row: Row) -> None:
        """Takes a tuple from its buffer."""
        self.buffers[stream].remove(row)
        self.work[DROPS] += 1


class BewGraphTwin(LoopTwin):
    """BEW along the stated bounds: streams that a bound joins to those chosen come first."""

    def __init__(self, given: Input) -> None:
        super().__init__(given)
        self.upper = given.stated

    def next_stream(self, chosen: list[tuple[int, Row]]) -> int:
        """The next in turn that a stated bound joins to those chosen."""
        taken = [stream for stream, _ in chosen]
        rest = [(taken[0] + n) % self.size for n in range(self.size)]
        joined = [
            stream
            for stream in rest
            if stream not in taken
            and any(min(self.upper[stream][i], self.upper[i][stream]) < inf for i in taken)
        ]
        return joined[0]


class BewHashTwin(LoopTwin):
    """BEW by hash: a level goes through a bucket; a hand updates those that are rarely probed."""

    BUCKETS = 64

    def __init__(self, given: Input) -> None:
        super().__init__(given)
        self.hand = 0
        self.probed: set[tuple[int, int]] = set()

    def bucket(self, key: int) -> int:
        """Where a key is."""
        return ((key * 0x9E3779B97F4A7C15 % 2**64) >> 32) % self.BUCKETS

    def candidates(self, stream: int, key: int) -> list[Row]:
        """The tuples of the key's bucket."""
        self.probed.add((stream, self.bucket(key)))
        return self.of_bucket(stream, self.bucket(key))

    def of_bucket(self, stream: int, bucket: int) -> list[Row]:
        """The tuples of a bucket."""
        return [row for row in self.buffers[stream] if self.bucket(row[1]) == bucket]

    def after_arrival(self, stream: int, row: Row) -> None:  # noqa: ARG002
        """The hand moves on by one bucket."""
        at = divmod(self.hand, self.BUCKETS)
        self.hand = (self.hand + 1) % (self.size * self.BUCKETS)
        if at in self.probed:
            self.probed.remove(at)
            return
        for row_there in self.of_bucket(*at):
            self.work[UPDATES] += 1
            if row_there[0] < self.horizon(at[0]):
                self.drop(at[0], row_there)


class ClosureTwin(LoopTwin):
    """The closed bounds: a level goes through a range, found by two binary searches."""

    def descend(self, chosen: list[tuple[int, Row]]) -> None:
        """One level: the buffer cut at the front, the range found, every tuple of it."""
        if len(chosen) == self.size:
            self.work[FOUND] += 1
            return
        stream, key = self.next_stream(chosen), chosen[0][1][1]
        buffer, least = self.buffers[stream], self.horizon(stream)
        for row in list(buffer):
            if row[0] < least:
                self.drop(stream, row)
        low, high = self.period(stream, chosen)
        first = self.search([row[0] < low for row in buffer], 0)
        last = self.search([row[0] <= high for row in buffer], first)
        self.work[PROBES] += 1
        for row in buffer[first:last]:
            self.work[TOUCHED] += 1
            self.work[KEY_TESTS] += 1
            if row[1] == key:
                self.descend([*chosen, (stream, row)])

    def search(self, is_before: list[bool], start: int) -> int:
        """The first place that is not before, each place looked at being a test."""
        stop = len(is_before)
        while start < stop:
            middle = (start + stop) // 2
            self.work[WINDOW_TESTS] += 1
            if is_before[middle]:
                start = middle + 1
            else:
                stop = middle
        return start


class RippleTwin(LoopTwin):
    """Ripple: all that is buffered, tested pair by pair; buffers cleaned every so many tuples."""

    def __init__(self, given: Input, clean_every: int) -> None:
        super().__init__(given)
        self.every = self.left = clean_every

    def before_arrival(self) -> None:
        """Cleans, if it is time."""
        if self.left == 0:
            self.left = self.every
            for stream, buffer in enumerate(self.buffers):
                least = self.horizon(stream)
                for row in list(buffer):
                    self.work[UPDATES] += 1
                    if row[0] < least:
                        self.drop(stream, row)

    def after_arrival(self, stream: int, row: Row) -> None:  # noqa: ARG002
        """One tuple less until the next cleaning."""
        self.left -= 1

    def is_met(self, stream: int, row: Row, chosen: list[tuple[int, Row]]) -> bool:
        """Whether a tuple is in the window of each one chosen, asked until one says no."""
        for other, (time, _) in chosen:
            self.work[WINDOW_TESTS] += 1
            if not -self.upper[stream][other] <= row[0] - time <= self.upper[other][stream]:
                return False
        return True
