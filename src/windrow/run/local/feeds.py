"""The streams of one query while they are read, and the watermark that follows from them.

    stream a   ----------------------x newest            watermark of a = newest - lateness
    stream b   ------------x newest                      watermark of b = newest - lateness
    query      --------|                                 the least of them

A stream that has delivered nothing holds the query's watermark at minus infinity; one that has
ended does not hold it at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from windrow.operators.instants import less_delay, ticks_of
from windrow.physical.specs import ScanStream
from windrow.run.local.sources import Source
from windrow.schema import MAX_TICK, MIN_TICK


@dataclass(frozen=True)
class Position:
    """How far a stream has been read: batches taken, the newest time, and whether it ended."""

    batches: int = 0
    newest: int = MIN_TICK
    has_ended: bool = False


@dataclass
class Feed:
    """One stream being read."""

    stream: str
    time: str
    lateness: int
    rows: Iterator[pa.RecordBatch]
    position: Position = field(default_factory=Position)

    @property
    def watermark(self) -> int:
        """The least time that the stream may still deliver."""
        if self.position.has_ended:
            return MAX_TICK
        return less_delay(self.position.newest, self.lateness)

    def poll(self) -> pa.RecordBatch | None:
        """The next batch; None once the stream has ended."""
        batch = next(self.rows, None)
        before = self.position
        if batch is None:
            self.position = Position(before.batches, before.newest, has_ended=True)
            return None
        newest = before.newest
        if batch.num_rows:
            newest = max(newest, int(ticks_of(batch.column(self.time)).max()))
        self.position = Position(before.batches + 1, newest)
        return batch


class Feeds:
    """All streams of a query, read one batch at a time.

    The next batch comes from the stream that is furthest behind in event time, so that none runs
    ahead and the windows stay small; among equals the streams take turns.
    """

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self._feeds = list(feeds)
        self._watermark = MIN_TICK

    @property
    def watermark(self) -> int:
        """The query's watermark; it never goes back."""
        self._watermark = max(self._watermark, min(feed.watermark for feed in self._feeds))
        return self._watermark

    @property
    def have_ended(self) -> bool:
        """Whether no stream has anything more to give."""
        return all(feed.position.has_ended for feed in self._feeds)

    @property
    def positions(self) -> dict[str, Position]:
        """How far each stream has been read, in the order in which they take turns."""
        return {feed.stream: feed.position for feed in self._feeds}

    def poll(self) -> tuple[str, pa.RecordBatch | None]:
        """The stream that is furthest behind, and its next batch, None for its end."""
        open_feeds = [feed for feed in self._feeds if not feed.position.has_ended]
        behind = min(open_feeds, key=lambda feed: feed.position.newest)
        # Taking turns: whoever was read goes to the end, and min takes the first of equals.
        self._feeds.remove(behind)
        self._feeds.append(behind)
        return behind.stream, behind.poll()


def open_feeds(
    scans: Sequence[ScanStream],
    sources: Mapping[str, Source],
    positions: Mapping[str, Position],
) -> Feeds:
    """The streams that a query scans, each once whatever its aliases, from the given positions.

    Positions come in the order in which the streams take turns.
    """
    first_scans = {scan.stream: scan for scan in reversed(scans)}
    feeds = []
    for scan in positions or dict.fromkeys(scan.stream for scan in scans):
        spec, position = first_scans[scan], positions.get(scan, Position())
        rows = sources[scan].batches(spec.time, position.batches)
        feeds.append(Feed(scan, spec.time, spec.lateness, rows, position))
    return Feeds(feeds)
