"""Late rows by stream: how many there are, and which lateness would have let them in.

    time    t ........... W .................. N
            a late row    the watermark        the newest row of its stream
                          as its batch began   before the batch

A stream's own watermark is N less its lateness, and the query's is at or below it. With a lateness of
N - t it would not have passed t, and the row not have been late.

They are counted here, in either runner; `operators/engine/late_rule.py` finds and drops them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from windrow.physical.explain.facts import remedy
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.units import show_ticks
from windrow.schema import MIN_TICK

MOST_LATE = 0.01
"""The share of a stream's rows that may be late before the runner warns of it."""

ENOUGH_ROWS = 1_000
"""Rows of a stream from which on the share is looked at while the query runs; at its end it is in
any case."""


@dataclass(frozen=True)
class StreamFigures:
    """What one stream has brought.

    Attributes:
        rows_in: rows read.
        late: rows below the watermark as their batch began, each once.
        null_time: rows without an event time.
        lateness_needed: the lateness, in ticks, with which none would have been late; None where
            none was, or where the stream promises otherwise than by a lateness.
    """

    rows_in: int = 0
    late: int = 0
    null_time: int = 0
    lateness_needed: int | None = None

    @property
    def share(self) -> float:
        """The share of the rows that were late."""
        return self.late / self.rows_in if self.rows_in else 0.0

    def as_dict(self) -> dict[str, Any]:
        """The figures by name, ready for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Arrived:
    """What one batch of a stream brought: rows, late ones, the earliest of them, the newest of all."""

    rows: int
    late: int = 0
    null_time: int = 0
    earliest: int | None = None
    newest: int = MIN_TICK

    def with_late(self, times: NDArray[np.int64]) -> Self:
        """The same, late rows having those times; MIN_TICK for none."""
        timed = times[times > MIN_TICK]
        return replace(
            self,
            late=len(timed),
            null_time=len(times) - len(timed),
            earliest=int(timed.min()) if len(timed) else None,
        )

    def at_least(self, late: int, null_time: int, earliest: int) -> Self:
        """The same, with at least so many late rows, the earliest at that time if there is any."""
        known = [] if self.earliest is None else [self.earliest]
        return replace(
            self,
            late=max(self.late, late),
            null_time=max(self.null_time, null_time),
            earliest=min([*known, earliest]) if late else self.earliest,
        )


class StreamCounts:
    """Adds up what the streams of a query bring.

    Args:
        scans: the query's scans.
        earlier: the figures of the run that is gone on with.
        newest: the newest time of each stream in it.
    """

    def __init__(
        self,
        scans: Sequence[ScanStream],
        earlier: Mapping[str, StreamFigures] | None = None,
        newest: Mapping[str, int] | None = None,
    ) -> None:
        self._scans = {scan.stream: scan for scan in reversed(scans)}
        streams = dict.fromkeys(scan.stream for scan in scans)
        self.figures = {name: (earlier or {}).get(name, StreamFigures()) for name in streams}
        self._newest = {name: (newest or {}).get(name, MIN_TICK) for name in streams}
        self._warned: set[str] = set()

    def add(self, stream: str, arrived: Arrived, watermark: int) -> None:
        """Takes in a batch that began with that watermark."""
        before, newest = self.figures[stream], self._newest[stream]
        scan, needed = self._scans[stream], before.lateness_needed
        if arrived.earliest is not None and scan.lateness is not None:
            gap = watermark - arrived.earliest
            # After a restart the newest row may not be known; the lateness is then a lower bound.
            own = newest - arrived.earliest if newest > MIN_TICK else scan.lateness + gap
            needed = max(needed or 0, own, scan.lateness + gap)
        self.figures[stream] = StreamFigures(
            rows_in=before.rows_in + arrived.rows,
            late=before.late + arrived.late,
            null_time=before.null_time + arrived.null_time,
            lateness_needed=needed,
        )
        self._newest[stream] = max(newest, arrived.newest)

    def warnings(self, *, is_end: bool) -> Iterator[str]:
        """What to warn of now, once per stream."""
        for name, figures in self.figures.items():
            if not figures.late:
                continue
            is_enough = is_end or figures.rows_in >= ENOUGH_ROWS
            if is_enough and figures.share > MOST_LATE and name not in self._warned:
                self._warned.add(name)
                yield self._warning(name, figures)

    def _warning(self, name: str, figures: StreamFigures) -> str:
        scan = self._scans[name]
        if scan.read_ahead is not None or scan.punctuation is not None:
            advice = remedy(replace(scan, lateness=None), name, 0)
        else:
            needed = show_ticks(figures.lateness_needed or 0, scan.time_type)
            advice = f"a lateness of {needed} would have sufficed"
        return (
            f"{figures.share:.1%} of the rows of {name} came late and are not in the answer "
            f"({figures.late:,} of {figures.rows_in:,}): {advice}"
        )
