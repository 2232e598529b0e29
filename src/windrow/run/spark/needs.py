"""What the buckets of a join that sheds would hold and are sent, and which part each gets.

Memory and service rate are the query's. A bucket of frequent keys needs more of them than others do,
so that parts follow what buckets would hold if nothing were shed. While streaming, each map task
counts the rows that it sends by pane, and tells every bucket how many there are, how many of them are
its own, and how many those of the buckets before it:

    task 1     bucket 0:  5 of 9       bucket 1:  4 of 9, 5 before
    task 2     bucket 0:  1 of 8       bucket 1:  7 of 8, 1 before
    memory     6 / 17 of all           11 / 17 of all         rows that windows have left do not count

So nobody is asked, and nobody waits: parts follow from rows alone. A task or a micro-batch that is run
again gives the same ones. Each pane is decided by the parts at its time, and what is held after a
micro-batch by those at its end; together they are what there is. If all that buckets would hold fits,
each has room for what it would hold. Probes are divided pane by pane, by what is sent of it
(`operators/shedding/tokens.py`). In a batch run buckets come to a pane at different times, and all
rows are counted beforehand; what a bucket would hold is then the most that it ever would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.instants import less_delay
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.physical.shedding.limits import Shedding
from windrow.run.spark.sent import SentPanes
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from windrow.operators.shares import Buckets

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

TOLD = -1
"""In place of a port: the blob tells how many rows there are."""

MOST_SPANS = 256
"""Spans of event time that a task counts rows in; if rows are of more panes, a span has several."""

COUNTED = "bucket INT, port INT, start BIGINT, stop BIGINT, rows BIGINT"
_ARROW_COUNTED = pa.schema(
    [("bucket", pa.int32()), ("port", pa.int32()),
     ("start", pa.int64()), ("stop", pa.int64()), ("rows", pa.int64())]
)  # fmt: skip


class Counts(NamedTuple):
    """Rows of one input by spans of event time.

    Attributes:
        starts: where the spans begin.
        stops: where they end.
        rows: per bucket and span, how many rows.
        newest: the newest time.
    """

    starts: Numbers
    stops: Numbers
    rows: Numbers
    newest: int


def counts_of(
    spec: SheddingJoin, times: Numbers, buckets: Buckets, many: int, can_match: Flags | None = None
) -> Counts | None:
    """Counts rows that go to so many buckets; None where no row has a time.

    Args:
        spec: the join.
        times: per row and copy of it, its time; MIN_TICK for none.
        buckets: where it goes.
        many: how many buckets there are.
        can_match: whether it may be part of a result; None if all may. Those that may not are neither
            held nor probed with, and tell the time alone.
    """
    is_timed = times > MIN_TICK
    if not is_timed.any():
        return None
    newest = int(times[is_timed].max())
    counted = is_timed if can_match is None else is_timed & can_match
    times, buckets = times[counted], buckets[counted]
    width = spec.pane
    # Spans without a row do not count: one row that is far from all others does not widen theirs.
    spans = np.unique(times // width)
    while len(spans) > MOST_SPANS:
        width *= 2
        spans = np.unique(spans // 2)
    places = buckets * len(spans) + np.searchsorted(spans, times // width)
    rows = np.bincount(places, minlength=many * len(spans)).reshape(many, len(spans))
    starts = [max(MIN_TICK, span * width) for span in spans.tolist()]
    stops = [min(MAX_TICK, (span + 1) * width) for span in spans.tolist()]
    return Counts(np.array(starts, np.int64), np.array(stops, np.int64), rows, newest)


def messages(port: int, counts: Counts) -> Iterator[bytes]:
    """What each bucket is told, in their order."""
    whole = counts.rows.sum(axis=0)
    head = np.array([port, counts.newest], np.int64)
    before = np.cumsum(counts.rows, axis=0) - counts.rows
    for own, below in zip(counts.rows, before, strict=True):
        told = [head, counts.starts, counts.stops, whole, own, below]
        yield np.concatenate(told).tobytes()


def counted_rows(port: int, counts: Counts) -> pa.RecordBatch:
    """The counts as rows of `COUNTED`."""
    buckets, spans = np.nonzero(counts.rows)
    columns = [
        buckets, np.full(len(buckets), port), counts.starts[spans], counts.stops[spans],
        counts.rows[buckets, spans],
    ]  # fmt: skip
    arrays = [pa.array(own, f.type) for own, f in zip(columns, _ARROW_COUNTED, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW_COUNTED)


def most_held(spec: SheddingJoin, counted: pa.Table, buckets: int) -> tuple[int, ...]:
    """Per bucket, the most rows that it would ever hold at once, by counts of all its rows.

    A row is held from its time on until its window is over:

        [ start of its span ........ stop .... + retention )
    """
    bucket, port, start, stop, rows = (
        counted.column(name).to_numpy().astype(np.int64) for name in _ARROW_COUNTED.names
    )
    reach = np.array([max(0, spec.retention(at)) for at in range(len(spec.inputs))])
    until = np.where(stop > MAX_TICK - reach[port], MAX_TICK, stop + reach[port])
    instants = np.concatenate([start, until])
    owners, changes = np.concatenate([bucket, bucket]), np.concatenate([rows, -rows])
    # At one instant rows go before others come.
    order = np.lexsort((changes, instants, owners))
    most = np.zeros(buckets, np.int64)
    # Of each bucket all rows are gone in the end: the sum begins anew with the next.
    np.maximum.at(most, owners[order], np.cumsum(changes[order]))
    return tuple(most.tolist())


Span = tuple[int, int, int]
"""Port, start and stop of a span of event time."""

Rows = tuple[int, int, int]
"""Rows of a span in all buckets, in this one, and in those before it."""

Spans = dict[Span, Rows]


@dataclass(frozen=True)
class Needs:
    """What one bucket, and all of them, would hold.

    Attributes:
        before: rows of earlier micro-batches.
        come: those of this one, which are at hand until their pane is decided.
    """

    before: Spans
    come: Spans

    @classmethod
    def told(
        cls, stored: Iterable[Sequence[int]], blobs: Iterable[bytes], begun: int = MIN_TICK
    ) -> tuple[Needs, dict[int, int]]:
        """What is stored, and what tasks tell; with the newest times that they do, by port.

        Args:
            stored: what an earlier micro-batch has left.
            blobs: what the tasks of this one tell.
            begun: the watermark when it began: spans that were over then have late rows alone, which
                are neither held nor probed with.
        """
        before: Spans = {}
        for port, start, stop, *rows in stored:
            _add(before, (port, start, stop), rows)
        come: Spans = {}
        newest: dict[int, int] = {}
        for blob in blobs:
            (port, last), rest = np.split(np.frombuffer(blob, np.int64), [2])
            newest[int(port)] = max(newest.get(int(port), MIN_TICK), int(last))
            for start, stop, *rows in rest.reshape(5, -1).T.tolist():
                if stop > begun:
                    _add(come, (int(port), start, stop), rows)
        return cls(before, come), newest

    def to_store(self, spec: SheddingJoin, watermark: int) -> list[list[int]]:
        """What is left of all once the query stands at a watermark, as rows of numbers."""
        instant = less_delay(watermark, max(child.delay for child in spec.inputs))
        if MIN_TICK < instant < MAX_TICK:
            instant = instant // spec.pane * spec.pane
        spans = dict(self.before)
        for span, rows in self.come.items():
            _add(spans, span, rows)
        return [[*span, *rows] for span, rows in sorted(_reached(spec, spans, instant).items())]

    def held(self, spec: SheddingJoin, instant: int, until: int) -> tuple[int, int]:
        """Rows that this bucket, and that all would hold where panes are decided to an instant.

        Of the rows at hand those count that begin before another instant:

            before     [ instant - retention .................... and all that wait
            come       [ instant - retention .... until )
        """
        come = {span: rows for span, rows in self.come.items() if span[1] < until}
        alive = [
            *_reached(spec, self.before, instant).values(),
            *_reached(spec, come, instant).values(),
        ]
        return sum(own for _, own, _ in alive), sum(whole for whole, _, _ in alive)

    def sent(self, spec: SheddingJoin, begun: int) -> SentPanes:
        """What buckets are sent, pane by pane.

        Args:
            spec: the join.
            begun: the query's watermark when this micro-batch began.
        """
        instant = less_delay(begun, max(child.delay for child in spec.inputs))
        return SentPanes(spec.pane, self.before, self.come, instant)


def _add(spans: Spans, span: Span, rows: Sequence[int]) -> None:
    whole, own, below = spans.get(span, (0, 0, 0))
    spans[span] = whole + rows[0], own + rows[1], below + rows[2]


def _reached(spec: SheddingJoin, spans: Spans, instant: int) -> Spans:
    """The spans with rows that are held where panes are decided to an instant."""
    reach = [max(0, spec.retention(port)) for port in range(len(spec.inputs))]
    return {span: rows for span, rows in spans.items() if span[2] > instant - reach[span[0]]}


def part_of(whole: Shedding, equal: Shedding, own: int, of_all: int) -> Shedding:
    """What a bucket may hold and do that would hold so many rows of all that buckets would hold.

    Where totals are estimated every bucket needs a sample of its own, large enough: if not all is
    sure to fit, parts stay equal.

    Args:
        whole: what there is for the query.
        equal: an equal part of it.
        own: rows that the bucket would hold.
        of_all: rows of all buckets.
    """
    if not of_all or (whole.is_estimated and not whole.fits(of_all)):
        return equal
    return equal.share_of(whole, own, of_all)


@dataclass(frozen=True, eq=False)
class Beforehand:
    """What buckets will be sent in a batch run, counted before it.

    Attributes:
        most: per bucket, the most rows that it would ever hold at once.
        counted: rows of `COUNTED`, ordered by spans.
    """

    most: tuple[int, ...]
    counted: pa.Table

    @classmethod
    def of(cls, spec: SheddingJoin, counted: pa.Table, buckets: int) -> Beforehand:
        """By all counts, in any order."""
        by_span = [(name, "ascending") for name in ("port", "start", "stop")]
        return cls(most_held(spec, counted, buckets), counted.sort_by(by_span))

    def sent(self, spec: SheddingJoin, bucket: int) -> SentPanes:
        """What all are sent, pane by pane, as one bucket looks at it."""
        homes, *spans, rows = (
            self.counted.column(name).to_numpy() for name in _ARROW_COUNTED.names
        )
        is_first = np.ones(len(rows), np.bool_)
        is_first[1:] = np.any([own[1:] != own[:-1] for own in spans], axis=0)
        first = np.flatnonzero(is_first)
        sums = [np.add.reduceat(rows * own, first) for own in (1, homes == bucket, homes < bucket)]
        keys = zip(*(own[first].tolist() for own in spans), strict=True)
        return SentPanes(
            spec.pane,
            dict(zip(keys, zip(*(own.tolist() for own in sums), strict=True), strict=True)),
            {},
            MIN_TICK,
        )
