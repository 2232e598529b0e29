"""The streams of one query while they are read, and the watermark that follows from them.

    stream a   ----------------------x newest            watermark of a = newest - lateness
    stream b   ------------x newest                      watermark of b = newest - lateness
    query      --------|                                 the least of them

Where a stream promises by read-ahead or punctuations, its watermark is as far as those reach
(`operators/feeds/promises.py`, `complete_by_punctuations`), or its lateness if that reaches further.

A stream that has delivered nothing holds the query's watermark at minus infinity; one that has
ended does not hold it at all. A stream whose time is given on arrival delivers nothing before the
present instant, so that its watermark is the clock.

Transaction time is the instant at which the query takes a batch, by a clock passed in. All rows of a
batch have one instant. The clock of a query never goes back: where the clock passed in does, the newest
instant is given again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import BindError, DataError
from windrow.operators.columns.arrow_types import arrow_type, less_delay, ticks_of
from windrow.operators.feeds.promises import (
    complete_by_punctuations,
    complete_by_read_ahead,
    split_punctuations,
)
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.options import IN_STEP
from windrow.run.local.inlets import (
    PAUSE_S,
    BatchSplitter,
    Bell,
    Inlet,
    InMemory,
    Reader,
    RowsAtOnce,
    Taken,
    all_at_once,
    first_of,
)
from windrow.run.local.sources import NOTHING_NOW, BatchReader, already_read
from windrow.schema import ARRIVAL_TYPE, MAX_TICK, MIN_TICK

PATIENCE_S = 0.1
"""In step, how long the query waits for the stream furthest behind before it reads another one.

An iterator over files is ready in time, and the streams are then read in step, as tables are. One
that is not has stalled: it is not waited for again until it has batches to spare."""

TICKS_PER_S = 1_000_000
"""Instants of arrival are timestamps, in microseconds."""

STUCK_BATCHES = 8
"""Batches in a row that leave a stream where it is in event time, before the others are asked first.

Few enough that none is kept waiting for good by a stream whose time stands still, or is missing;
more than disorder within a lateness usually makes."""


WallClock = Callable[[], datetime]

_CLOCK = "for instance  Session(clock=lambda: datetime.now(UTC))"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def system_clock() -> datetime:
    """The present instant."""
    return datetime.now(UTC)


class ArrivalClock:
    """The clock of one query.

    Args:
        clock: gives the present instant, with its time zone.
        latest: an instant, in ticks, that it does not go back behind.

    Examples:
        >>> ArrivalClock(lambda: datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)).now()
        1000000
    """

    def __init__(self, clock: WallClock = system_clock, latest: int = MIN_TICK) -> None:
        self._clock = clock
        self.latest = latest

    def now(self) -> int:
        """The present instant in ticks.

        Raises:
            BindError: the clock gives no instant.
        """
        try:
            instant: object = self._clock()
        except Exception as error:
            raise BindError(
                "bad-clock",
                f"the session's clock raised {type(error).__name__}: {error}",
                hint=_CLOCK,
            ) from error
        if not isinstance(instant, datetime) or instant.tzinfo is None:
            raise BindError(
                "bad-clock",
                f"the session's clock gives {instant!r}, which is not an instant",
                reason="it is to give a datetime with a time zone",
                hint=_CLOCK,
            )
        self.latest = max(self.latest, (instant - _EPOCH) // _TICK)
        return self.latest

    def stamped(self, rows: pa.RecordBatch, column: str) -> pa.RecordBatch:
        """The rows with the instant that was read last in one more column."""
        kind = arrow_type(ARRIVAL_TYPE)
        instants = pa.repeat(pa.scalar(self.latest, pa.int64()), rows.num_rows).view(kind)
        return rows.append_column(pa.field(column, kind), instants)


@dataclass(frozen=True)
class Position:
    """How far a stream has been read: rows taken, the newest time, and whether it ended.

    Rows are counted as they come, in batches taken whole. Where batches are cut, `part` rows have been
    taken, in the order of time, of the `whole` ones that came in the batch after these:

        rows as they come   |===========|== == =--- -|-----------
                            0           rows         rows + whole

    `is_reordered` where rows are counted in the order of time, into which a table was put. `promised` is
    the least time that may still come by read-ahead and punctuations, `last` what the next read-ahead begins with.
    """

    rows: int = 0
    newest: int = MIN_TICK
    has_ended: bool = False
    part: int = 0
    whole: int = 0
    promised: int = MIN_TICK
    last: tuple[int, ...] = ()
    is_reordered: bool = False


@dataclass(eq=False)
class Feed:
    """One stream being read; with an arrival clock, one whose rows get their time from it.

    `times` are the ticks of the rows that were given last.
    """

    scan: ScanStream
    inlet: Inlet
    position: Position = field(default_factory=Position)
    arrivals: ArrivalClock | None = None
    is_stalled: bool = False
    is_awaited: bool = True
    in_place: int = 0
    cut: BatchSplitter = field(default_factory=lambda: BatchSplitter(all_at_once))
    promise: tuple[int, tuple[int, ...]] = (MIN_TICK, ())
    times: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def stream(self) -> str:
        """Its name."""
        return self.scan.stream

    @property
    def watermark(self) -> int:
        """The least time that the stream may still deliver."""
        if self.position.has_ended:
            return MAX_TICK
        if self.arrivals is not None:
            return self.arrivals.latest
        if self.scan.lateness is None:
            return self.position.promised
        return max(less_delay(self.position.newest, self.scan.lateness), self.position.promised)

    def ask(self, bell: Bell, *, has_patience: bool = True) -> Taken:
        """The next batch, None at the end of the stream, NOTHING_NOW where it has stalled.

        Without patience, a stream that has nothing ready at this instant has stalled.
        """
        taken = self._take()
        may_wait = has_patience and self.is_awaited and not self.inlet.is_silent
        if taken is NOTHING_NOW and may_wait:
            bell.wait_for(lambda: self.inlet.is_ready or self.inlet.is_silent, PATIENCE_S)
            taken = self._take()
        self.is_stalled = taken is NOTHING_NOW
        if taken is NOTHING_NOW:
            self.is_awaited = False
            return taken
        self.is_awaited = self.is_awaited or self.inlet.is_ready
        return self._moved_on(taken)

    def _take(self) -> Taken:
        """The rest of the batch at hand, or the next one; its first part where batches are cut."""
        if self.cut.is_done:
            taken = self.inlet.take()
            if taken is None or taken is NOTHING_NOW:
                return taken
            self.promise = self._promised_by(taken)
            time = self.scan.time if self.arrivals is None else None
            self.cut.begin(taken, time, self.position.part)
        return self.cut.next()

    def _moved_on(self, batch: pa.RecordBatch | None) -> pa.RecordBatch | None:
        """Notes how far the stream has come with a batch; gives its rows, without punctuations."""
        before = self.position
        if batch is None:
            self.position = replace(before, has_ended=True)
            return None
        is_done, scan = self.cut.is_done, self.scan
        newest, promise = before.newest, (before.promised, before.last)
        if self.arrivals is not None:
            newest = self.arrivals.now()
            batch = self.arrivals.stamped(batch, scan.time)
        self.times = ticks_of(batch.column(scan.time))
        if self.arrivals is None and batch.num_rows:
            newest = max(newest, int(self.times.max()))
            promise = self.promise if is_done else promise
            if scan.punctuation is not None:
                batch, is_punctuation = split_punctuations(batch, scan.punctuation)
                self.times = self.times[~is_punctuation]
        self.in_place = self.in_place + 1 if newest == before.newest else 0
        self.position = Position(
            rows=before.rows + self.cut.whole if is_done else before.rows,
            newest=newest,
            has_ended=before.has_ended,
            part=0 if is_done else self.cut.taken,
            whole=0 if is_done else self.cut.whole,
            promised=promise[0],
            last=promise[1],
            is_reordered=before.is_reordered,
        )
        return batch

    def _promised_by(self, batch: pa.RecordBatch) -> tuple[int, tuple[int, ...]]:
        """The least time that may still come after a batch, and what the next read-ahead begins with.

        By the rows as they came: the parts of a batch that is cut are in the order of time, and would
        promise more than their stream does.
        """
        scan, promised, last = self.scan, self.position.promised, self.position.last
        if (scan.punctuation is None and scan.read_ahead is None) or not batch.num_rows:
            return promised, last
        times = ticks_of(batch.column(scan.time))
        if scan.punctuation is not None:
            _, is_punctuation = split_punctuations(batch, scan.punctuation)
            promised = max(promised, complete_by_punctuations(times[is_punctuation]))
            times = times[~is_punctuation]
        if scan.read_ahead is not None:
            reached, last = complete_by_read_ahead(times, last, scan.read_ahead)
            promised = max(promised, reached)
        return promised, last


class Feeds:
    """All streams of a query, read one batch at a time.

    In step, the next batch comes from the stream that is furthest behind in event time, so that
    none runs ahead and the windows stay small. Streams at the same time are asked round robin,
    whether they then have a batch or nothing now; a stream that has nothing now keeps no other from
    being read. One that is read again and again and stays where it is lets the others go first for
    once.

    Round robin, every open stream is asked in its turn, wherever it is in event time, and none is
    waited for.

    Attributes:
        ended: the streams that have ended.
        have_ended: whether every stream has.
        times: the ticks of the rows that `poll` gave last.
    """

    def __init__(self, feeds: Sequence[Feed], bell: Bell, polling: str = IN_STEP) -> None:
        self._feeds = list(feeds)
        self._bell = bell
        self._is_in_step = polling == IN_STEP
        self._clocks = [feed.arrivals for feed in feeds if feed.arrivals is not None]
        self._times_of = {feed.stream: feed.scan.time for feed in feeds}
        self._watermark = MIN_TICK
        self.times: NDArray[np.int64] = np.empty(0, np.int64)
        self._note_ended()

    @property
    def watermark(self) -> int:
        """The query's watermark; it never goes back."""
        self._watermark = max(self._watermark, min(feed.watermark for feed in self._feeds))
        return self._watermark

    @property
    def now(self) -> int:
        """The newest instant that any stream has told of, by a row or by the clock of arrivals."""
        told = [feed.position.newest for feed in self._feeds]
        return max([*told, *(clock.latest for clock in self._clocks)])

    def _note_ended(self) -> None:
        self.ended = frozenset(feed.stream for feed in self._feeds if feed.position.has_ended)
        self.have_ended = len(self.ended) == len(self._feeds)

    @property
    def positions(self) -> dict[str, Position]:
        """How far each stream has been read, in the order in which they take turns."""
        return {feed.stream: feed.position for feed in self._feeds}

    @property
    def stalled(self) -> tuple[str, ...]:
        """The streams that had nothing when they were last asked, in the order of their names."""
        return tuple(sorted(feed.stream for feed in self._open() if feed.is_stalled))

    def time_of(self, stream: str) -> str:
        """The column of a stream that has its time."""
        return self._times_of[stream]

    def poll(self) -> tuple[str, pa.RecordBatch | None] | None:
        """A stream and its next batch, None for its end; None alone where no stream has any now."""
        for clock in self._clocks[:1]:  # one clock for all
            clock.now()
        for feed in self._turns():
            if self._bell.is_stopped:
                return None
            self._feeds.remove(feed)
            self._feeds.append(feed)
            taken = feed.ask(self._bell, has_patience=self._is_in_step)
            if taken is NOTHING_NOW:
                continue
            for other in self._feeds[:-1]:
                other.in_place = 0
            if taken is None:
                self._note_ended()
            self.times = feed.times
            return feed.stream, taken
        return None

    def wait(
        self,
        due: int = MAX_TICK,
        is_woken: Callable[[], bool] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Waits until some stream may have a batch, the watermark is at `due`, or the query stopped.

        Whoever has it woken rings the bell. It waits so many seconds at most.
        """
        inlets = [feed.inlet for feed in self._open()]
        limits = [limit for limit in (self._seconds_to(due), seconds) if limit is not None]
        self._bell.wait_for(
            lambda: any(inlet.is_ready for inlet in inlets) or bool(is_woken and is_woken()),
            min(limits, default=None),
        )

    def _seconds_to(self, due: int) -> float | None:
        """How long the clock of arrivals takes to an instant; None where it is not the watermark."""
        if due == MAX_TICK or any(feed.arrivals is None for feed in self._open()):
            return None
        return max((due - self._clocks[0].latest) / TICKS_PER_S, PAUSE_S)

    def _turns(self) -> list[Feed]:
        """The open streams in the order in which to ask them: in step by event time, the stuck last.

        Whoever is asked goes to the end of all, and sorting keeps the order of equals.
        """
        feeds = self._open()
        if self._is_in_step and len(feeds) > 1:
            feeds.sort(key=lambda feed: (feed.in_place >= STUCK_BATCHES, feed.position.newest))
        return feeds

    def _open(self) -> list[Feed]:
        return [feed for feed in self._feeds if not feed.position.has_ended]


def open_feeds(
    scans: Sequence[ScanStream],
    sources: Mapping[str, BatchReader],
    positions: Mapping[str, Position],
    bell: Bell | None = None,
    arrivals: ArrivalClock | None = None,
    polling: str | None = None,
    rows_at_once: RowsAtOnce | None = None,
) -> Feeds:
    """The streams that a query scans, each once whatever its aliases, from the given positions.

    Positions come in the order in which the streams take turns. `rows_at_once` says how many rows of
    a batch are taken at a time; None: all of them.
    """
    bell = bell or Bell()
    arrivals = arrivals or ArrivalClock()
    first_scans = {scan.stream: scan for scan in reversed(scans)}
    feeds = []
    for name in positions or dict.fromkeys(scan.stream for scan in scans):
        node, position = first_scans[name], positions.get(name, Position())
        source = sources[name]
        if source.is_spent and not position.has_ended:
            raise already_read(name)
        time = None if node.is_on_arrival else node.time
        position = _in_one_order(name, position, is_reordered=source.reorders(time))
        rows = source.batches(time, position.rows)
        if position.whole:
            rows = first_of(rows, position.whole)
        inlet: Inlet = InMemory(rows)
        if source.may_block:
            inlet = Reader(name, rows, bell, merges=source.is_cut_by_arrival)
        clock = arrivals if node.is_on_arrival else None
        # A batch that was stopped in goes on in the same place, though batches are not cut any more.
        cut = BatchSplitter(rows_at_once or all_at_once)
        feeds.append(Feed(node, inlet, position, clock, cut=cut))
    return Feeds(feeds, bell, polling or IN_STEP)


def _in_one_order(stream: str, position: Position, *, is_reordered: bool) -> Position:
    """The position, where the rows that it counts come in the order in which they are read now.

    Raises:
        DataError: they came in another order.
    """
    if position.rows and position.is_reordered != is_reordered:
        raise DataError(
            "checkpoint-of-another-order",
            f"the checkpoint counts the rows of {stream} in another order",
            reason="a table is read in the order of time, an iterable of batches as they come, and rows"
            " that were read are skipped by their number",
            hint=f"register {stream} as a table again, or as batches again, as it was",
        )
    return replace(position, is_reordered=is_reordered)
