"""What GCA and LCA must do, counted by plain loops over lists; see `join_work`.

Both are one sweep here. A stream's tuple reaches as far as the largest window of its stream (LCA)
or of all (GCA), and two tuples may be apart by the lesser of their reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from twins.join_work import Bounds, Row

from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    FOUND,
    KEY_TESTS,
    NARROWINGS,
    PROBES,
    REFINED,
    TIME_TESTS,
    TOUCHED,
    WINDOW_TESTS,
)

BUCKETS = 64


class ConservativeTwin:
    """GCA or LCA over streams in time order.

    Args:
        closed: the closed bounds, from which the windows of the filter come.
        stated: sets of bounds to refine by: a combination must meet one of them.
        is_local: LCA; else GCA.
        is_hashed: whether loops go through buckets.
    """

    def __init__(
        self, closed: Bounds, stated: Sequence[Bounds], *, is_local: bool, is_hashed: bool
    ) -> None:
        streams = range(len(closed))
        self.streams, self.stated, self.is_hashed = streams, stated, is_hashed
        self.reach = [
            max(max(abs(closed[i][j]), abs(closed[j][i])) for j in streams if j != i)
            for i in streams
        ]
        if not is_local:
            self.reach = [max(self.reach) for _ in streams]
        self.work = [0] * (NARROWINGS + 1)
        self.buffers: list[list[Row]] = [[] for _ in streams]
        self.waiting: list[list[Row]] = [[] for _ in streams]
        self.coming = [-inf for _ in streams]
        self.agreed: list[int] = []  # the streams whose oldest tuples fit each other, in turn
        self.turn = 0
        self.doomed: set[int] = set()
        self.end = -inf

    def arrive(self, arrivals: Sequence[tuple[int, Row]]) -> None:
        """Takes some more tuples, and goes on as far as can be."""
        for stream, row in arrivals:
            self.waiting[stream].append(row)
            self.coming[stream] = row[0]
        self._sweep()

    def finish(self) -> list[int]:
        """No more tuples come: goes to the end, and gives the work of it all."""
        self.coming = [inf for _ in self.streams]
        self._sweep()
        return self.work

    def _sweep(self) -> None:
        while len(self.agreed) == len(self.streams) or self._find_start():
            stream = self._next_in_period()
            if stream is not None:
                self._admit(stream)
            elif all(self._following(other) > self.end for other in self.streams):
                self._drop_first_out()
            else:
                return

    def _oldest(self, stream: int) -> Row | None:
        rows = self.buffers[stream] or self.waiting[stream]
        return rows[0] if rows else None

    def _time(self, stream: int) -> int:
        row = self._oldest(stream)
        assert row is not None
        return row[0]

    def _following(self, stream: int) -> float:
        rows = self.waiting[stream]
        return rows[0][0] if rows else self.coming[stream]

    def _apart(self, one: int, other: int) -> float:
        return min(self.reach[one], self.reach[other])

    def _drop(self, stream: int) -> None:
        (self.buffers[stream] or self.waiting[stream]).pop(0)
        self.doomed.discard(stream)
        self.work[DROPS] += 1

    def _find_start(self) -> bool:
        """Mode 1: whether the oldest tuples of all streams fit each other; False: one has none."""
        while len(self.agreed) < len(self.streams):
            stream = self.turn
            if self._oldest(stream) is None:
                self._drop_what_misses(stream)
                return False
            self.work[TIME_TESTS] += 1
            time = self._time(stream)
            if stream in self.doomed or any(
                time + self._apart(stream, other) < self._time(other) for other in self.agreed
            ):
                self._drop(stream)
                continue
            too_old = {
                other
                for other in self.agreed
                if self._time(other) + self._apart(stream, other) < time
            }
            self.doomed |= too_old
            self.agreed = [stream] if too_old else [*self.agreed, stream]
            self.turn = (stream + 1) % len(self.streams)
        self.turn = 0
        self.end = min(self._time(stream) + self.reach[stream] for stream in self.streams)
        return True

    def _drop_what_misses(self, missing: int) -> None:
        """What no tuple to come of a stream can meet that has none now."""
        for stream in self.streams:
            while stream != missing and self._oldest(stream) is not None:
                self.work[TIME_TESTS] += 1
                if self._time(stream) + self._apart(stream, missing) >= self.coming[missing]:
                    break
                self._drop(stream)
                self.agreed = []

    def _next_in_period(self) -> int | None:
        """Mode 2: the starting tuples as they are, then the streams in turn."""
        for stream in self.streams:
            if not self.buffers[stream]:
                return stream
        for n in self.streams:
            stream = (self.turn + n) % len(self.streams)
            if self.waiting[stream]:
                self.work[TIME_TESTS] += 1
                if self.waiting[stream][0][0] <= self.end:
                    self.turn = (stream + 1) % len(self.streams)
                    return stream
        return None

    def _admit(self, stream: int) -> None:
        row = self.waiting[stream].pop(0)
        self.buffers[stream].append(row)
        if all(self.buffers):
            self._join([(stream, row)])

    def _drop_first_out(self) -> None:
        """The end of mode 2: the tuple whose own window ends first goes, and mode 1 seeks another."""
        self.work[TIME_TESTS] += len(self.streams)
        stream = min(self.streams, key=lambda one: self._time(one) + self.reach[one])
        self._drop(stream)
        self.turn = stream
        self.agreed = [other for other in self.streams if other != stream]

    def _join(self, chosen: list[tuple[int, Row]]) -> None:
        """The filter: keys alone; and then the refinement."""
        if len(chosen) == len(self.streams):
            times = {stream: row[0] for stream, row in chosen}
            is_met = any(self._is_met(bounds, times) for bounds in self.stated)
            self.work[FOUND if is_met else REFINED] += 1
            return
        stream, key = (chosen[0][0] + len(chosen)) % len(self.streams), chosen[0][1][1]
        self.work[PROBES] += 1
        for row in self.buffers[stream]:
            if self.is_hashed and row[1] % BUCKETS != key % BUCKETS:
                continue
            self.work[TOUCHED] += 1
            self.work[KEY_TESTS] += 1
            if row[1] == key:
                self._join([*chosen, (stream, row)])

    def _is_met(self, bounds: Bounds, times: dict[int, int]) -> bool:
        """Whether all bounds are met, asked until one is not."""
        for older in self.streams:
            for newer in self.streams:
                if older != newer and bounds[older][newer] < inf:
                    self.work[WINDOW_TESTS] += 1
                    if times[newer] - times[older] > bounds[older][newer]:
                        return False
        return True
