"""What pipelines and FEW-join must do, counted by plain loops over lists; see `join_work`."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from twins.join_work import Input

from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    FOUND,
    KEY_TESTS,
    NARROWINGS,
    PROBES,
    TIME_TESTS,
    TOUCHED,
    WINDOW_TESTS,
)

LEFT, RIGHT = 0, 1


@dataclass(eq=False)
class Stored:
    """A tuple of one stream or of several: its times, its key, its period."""

    times: list[int]
    key: int
    low: float
    high: float


@dataclass
class Stage:
    """A level: what either side holds, what was probed, where the hands are, the last cleaning."""

    stores: tuple[list[Stored], list[Stored]] = field(default_factory=lambda: ([], []))
    probed: set[tuple[int, int]] = field(default_factory=set)
    hands: list[int] = field(default_factory=lambda: [0, 0])
    cleaned_at: int = -1


class PipelineTwin:
    """NLW, HW or XJoin over the streams as they are numbered, one arrival climbing at a time."""

    BUCKETS = 16

    def __init__(self, algorithm: str, given: Input, clean_every: int) -> None:
        self.algorithm, self.given, self.clean_every = algorithm, given, clean_every
        self.work = [0] * (NARROWINGS + 1)
        self.newest = [-inf] * len(given.streams)
        self.stages = [Stage() for _ in given.streams[1:]]
        self.number = -1

    def run(self) -> list[int]:
        """The work of all arrivals."""
        for number, (stream, (time, key)) in enumerate(self.given.arrivals()):
            self.number = number
            self.newest[stream] = max(self.newest[stream], time)
            side = LEFT if stream == 0 else RIGHT
            self.arrive(max(stream - 1, 0), side, [time], key)
        return self.work

    def arrive(self, level: int, side: int, times: list[int], key: int) -> None:
        """A tuple is stored on its side, meets the other, and what it completes climbs."""
        stage = self.stages[level]
        own = self.stored(level, side, times, key)
        stage.stores[side].append(own)
        self.work[PROBES] += 1
        met = [
            other
            for other in self.candidates(stage, 1 - side, key)
            if self.meets(level, 1 - side, own, other)
        ]
        if self.algorithm == "hw":
            self.move_hand(level, 1 - side)
        for other in met:
            joined = [*times, *other.times] if side == LEFT else [*other.times, *times]
            if level + 1 == len(self.stages):
                self.work[FOUND] += 1
            else:
                self.arrive(level + 1, LEFT, joined, key)
        if self.algorithm == "xjoin" and self.number - stage.cleaned_at >= self.clean_every:
            stage.cleaned_at = self.number
            for each in (LEFT, RIGHT):
                self.remove_old(level, each, list(stage.stores[each]))

    def stored(self, level: int, side: int, times: list[int], key: int) -> Stored:
        """A tuple and where the next may lie; of a right tuple, its own time."""
        if side == RIGHT:
            return Stored(times, key, times[0], times[0])
        upper, right = self.given.closed, level + 1
        low = max(time - upper[right][i] for i, time in enumerate(times))
        high = min(time + upper[i][right] for i, time in enumerate(times))
        return Stored(times, key, low, high)

    def candidates(self, stage: Stage, side: int, key: int) -> list[Stored]:
        """What a tuple goes through: all, or a bucket."""
        if self.algorithm == "nlw":
            return list(stage.stores[side])
        stage.probed.add((side, key % self.BUCKETS))
        return [one for one in stage.stores[side] if one.key % self.BUCKETS == key % self.BUCKETS]

    def meets(self, level: int, side: int, own: Stored, other: Stored) -> bool:
        """Whether two tuples join; W-joins remove what is out on the way."""
        self.work[TOUCHED] += 1
        is_in = other.low <= own.high and own.low <= other.high
        if self.algorithm == "xjoin":
            self.work[KEY_TESTS] += 1
            self.work[WINDOW_TESTS] += own.key == other.key
            return is_in and own.key == other.key
        self.work[WINDOW_TESTS] += 1
        if other.high < self.needed(level, side):
            self.stages[level].stores[side].remove(other)
            self.work[DROPS] += 1
            return False
        self.work[KEY_TESTS] += is_in
        return is_in and own.key == other.key

    def needed(self, level: int, side: int) -> float:
        """What a side's tuples must reach to be met once more."""
        right = level + 1
        if side == LEFT:
            return self.newest[right]
        return min(self.newest[i] - self.given.closed[right][i] for i in range(right))

    def move_hand(self, level: int, side: int) -> None:
        """HW: the hand leaves a bucket, and updates it if no tuple probed it meanwhile."""
        stage = self.stages[level]
        bucket = stage.hands[side]
        stage.hands[side] = (bucket + 1) % self.BUCKETS
        if (side, bucket) in stage.probed:
            stage.probed.remove((side, bucket))
            return
        rows = [one for one in stage.stores[side] if one.key % self.BUCKETS == bucket]
        self.remove_old(level, side, rows)

    def remove_old(self, level: int, side: int, rows: list[Stored]) -> None:
        """Goes through some tuples apart from all joining."""
        for one in rows:
            self.work[TOUCHED] += 1
            self.work[WINDOW_TESTS] += 1
            if one.high < self.needed(level, side):
                self.stages[level].stores[side].remove(one)
                self.work[DROPS] += 1


class FewTwin:
    """FEW with one window for all, every tuple there from the start; the streams end at last."""

    def __init__(self, given: Input, window: int, *, is_hashed: bool) -> None:
        self.streams, self.window, self.is_hashed = given.streams, window, is_hashed
        self.size = len(given.streams)
        self.work = [0] * (NARROWINGS + 1)
        self.head, self.taken = [0] * self.size, [0] * self.size
        self.turn = self.chain = 0
        self.end: float = 0

    def run(self) -> list[int]:
        """The work up to where it must wait, and then to the end."""
        for coming in (
            [stream[-1][0] if stream else -inf for stream in self.streams],
            [inf] * self.size,
        ):
            while (self.chain == self.size or self.find_start(coming)) and self.step(coming):
                pass
        return self.work

    def time(self, stream: int) -> int:
        """The time of a stream's oldest tuple."""
        return self.streams[stream][self.head[stream]][0]

    def drop(self, stream: int) -> None:
        """The oldest tuple of a stream goes."""
        self.head[stream] += 1
        self.taken[stream] = max(self.taken[stream], self.head[stream])
        self.work[DROPS] += 1

    def find_start(self, coming: list[float]) -> bool:
        """Mode 1: the oldest tuples of all streams, within the window of each other."""
        while self.chain < self.size:
            stream = self.turn
            if self.head[stream] == len(self.streams[stream]):
                self.drop_unreachable(stream, coming[stream])
                return False
            self.work[TIME_TESTS] += 1
            others = [self.time((stream - back) % self.size) for back in range(1, self.chain + 1)]
            if others and self.time(stream) < max(others) - self.window:
                self.drop(stream)
                continue
            is_right = bool(others) and self.time(stream) > min(others) + self.window
            self.chain = 1 if is_right else self.chain + 1
            self.turn = (stream + 1) % self.size
        self.turn = 0
        self.end = min(map(self.time, range(self.size))) + self.window
        return True

    def drop_unreachable(self, missing: int, coming: float) -> None:
        """What no tuple of a stream can meet that has none to offer now."""
        for stream in range(self.size):
            while stream != missing and self.head[stream] < len(self.streams[stream]):
                self.work[TIME_TESTS] += 1
                if self.time(stream) + self.window >= coming:
                    break
                self.drop(stream)
                self.chain = 0

    def step(self, coming: list[float]) -> bool:
        """Mode 2: the next tuple of the period is joined, or a starting tuple dropped."""
        stream = self.next_in_period()
        if stream is None:
            return self.drop_past(coming)
        row = self.streams[stream][self.taken[stream]]
        self.taken[stream] += 1
        if all(self.head[i] < self.taken[i] for i in range(self.size)):
            self.join(stream, 1, row[1])
        return True

    def next_in_period(self) -> int | None:
        """The starting tuples first, then the streams in turn."""
        for stream in range(self.size):
            if self.taken[stream] == self.head[stream]:
                return stream
        for n in range(self.size):
            stream = (self.turn + n) % self.size
            if self.taken[stream] < len(self.streams[stream]):
                self.work[TIME_TESTS] += 1
                if self.streams[stream][self.taken[stream]][0] <= self.end:
                    self.turn = (stream + 1) % self.size
                    return stream
        return None

    def drop_past(self, coming: list[float]) -> bool:
        """The end of mode 2: starting tuples that nothing to come can meet; whether any."""
        following = [
            rows[at][0] if at < len(rows) else coming[stream]
            for stream, (rows, at) in enumerate(zip(self.streams, self.taken, strict=True))
        ]
        gone = []
        for stream in range(self.size):
            self.work[TIME_TESTS] += 1
            others = [time for other, time in enumerate(following) if other != stream]
            if self.time(stream) + self.window < min(others):
                gone.append(stream)
        for stream in gone:
            self.drop(stream)
            self.turn = stream
            self.chain = self.size - 1 if len(gone) == 1 else 0
        return bool(gone)

    def join(self, start: int, depth: int, key: int) -> None:
        """The blind loops: keys alone."""
        if depth == self.size:
            self.work[FOUND] += 1
            return
        stream = (start + depth) % self.size
        self.work[PROBES] += 1
        for row in self.streams[stream][self.head[stream] : self.taken[stream]]:
            if not self.is_hashed or row[1] == key:
                self.work[TOUCHED] += 1
                self.work[KEY_TESTS] += 1
                if row[1] == key:
                    self.join(start, depth + 1, key)
