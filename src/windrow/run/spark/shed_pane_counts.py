"""Rows that buckets of a join that sheds are sent, counted by panes of event time.

Map tasks count rows in spans of one pane, or of several if they have rows of very many panes. Those of a
long span are taken as spread evenly over its panes:

    spans      |  3  |  4  |     |        10       |          rows of one input, or of one batch
                     |  6  |  1  |        20       |          and of another
    panes      |  3  | 10  |  1  |  10    10    10 |
    given         1     1     1           3                   how many panes are alike

Every bucket must come to the same numbers, whenever it does. So rows of a micro-batch do not count in
panes that were over when it began: they are late, and a bucket that had nothing to do in the batch
before may not have paid for these panes yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.load_shedding.tokens import Sent
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.schema import MAX_TICK, MIN_TICK, Schema

if TYPE_CHECKING:
    from windrow.operators.routing.partition import Buckets

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_SPANS = 256
"""Spans of event time that a task counts rows in; if rows are of more panes, a span has several."""

COUNTED = Schema.of(bucket="int", port="int", start="bigint", stop="bigint", rows="bigint")
_ARROW_COUNTED = arrow_schema(COUNTED)

Span = tuple[int, int, int]
"""Port, start and stop of a span of event time."""

Rows = tuple[int, int, int]
"""Rows of a span in all buckets, in this one, and in those before it."""

Spans = dict[Span, Rows]


class PaneCounts(NamedTuple):
    """Rows of one input by spans of event time.

    Attributes:
        starts: where the spans begin.
        stops: where they end.
        rows: per bucket and span, how many rows.
        newest: the newest time.
    """

    starts: Ints
    stops: Ints
    rows: Ints
    newest: int

    def messages(self, port: int) -> Iterator[bytes]:
        """What each bucket is told, in their order."""
        whole = self.rows.sum(axis=0)
        head = np.array([port, self.newest], np.int64)
        before = np.cumsum(self.rows, axis=0) - self.rows
        for own, below in zip(self.rows, before, strict=True):
            told = [head, self.starts, self.stops, whole, own, below]
            yield np.concatenate(told).tobytes()

    def table(self, port: int) -> pa.RecordBatch:
        """The counts as rows of `COUNTED`."""
        buckets, spans = np.nonzero(self.rows)
        columns = [
            buckets, np.full(len(buckets), port), self.starts[spans], self.stops[spans],
            self.rows[buckets, spans],
        ]  # fmt: skip
        arrays = [pa.array(own, f.type) for own, f in zip(columns, _ARROW_COUNTED, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=_ARROW_COUNTED)


def counts_of(
    node: SheddingJoin, times: Ints, buckets: Buckets, many: int, can_match: Flags | None = None
) -> PaneCounts | None:
    """Counts rows that go to so many buckets; None where no row has a time.

    Args:
        node: the join.
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
    width = node.pane
    # Spans without a row do not count: one row that is far from all others does not widen theirs.
    spans = np.unique(times // width)
    while len(spans) > MOST_SPANS:
        width *= 2
        spans = np.unique(spans // 2)
    places = buckets * len(spans) + np.searchsorted(spans, times // width)
    rows = np.bincount(places, minlength=many * len(spans)).reshape(many, len(spans))
    starts = [max(MIN_TICK, span * width) for span in spans.tolist()]
    stops = [min(MAX_TICK, (span + 1) * width) for span in spans.tolist()]
    return PaneCounts(np.array(starts, np.int64), np.array(stops, np.int64), rows, newest)


def most_held(node: SheddingJoin, counted: pa.Table, buckets: int) -> tuple[int, ...]:
    """Per bucket, the most rows that it would ever hold at once, by counts of all its rows.

    A row is held from its time on until its window is over:

        [ start of its span ........ stop .... + retention )
    """
    bucket, port, start, stop, rows = (
        counted.column(name).to_numpy().astype(np.int64) for name in COUNTED.names
    )
    reach = np.array([max(0, node.retention(at)) for at in range(len(node.inputs))])
    until = np.where(stop > MAX_TICK - reach[port], MAX_TICK, stop + reach[port])
    instants = np.concatenate([start, until])
    owners, changes = np.concatenate([bucket, bucket]), np.concatenate([rows, -rows])
    # At one instant rows go before others come.
    order = np.lexsort((changes, instants, owners))
    most = np.zeros(buckets, np.int64)
    # Of each bucket all rows are gone in the end: the sum begins anew with the next.
    np.maximum.at(most, owners[order], np.cumsum(changes[order]))
    return tuple(most.tolist())


class SentPanes:
    """The rows of panes: of all buckets, of those before one, and up to that one.

    Args:
        pane: how many ticks a pane has.
        before: rows of earlier micro-batches.
        come: those of this one.
        begun: the join's watermark when this one began.
    """

    def __init__(self, pane: int, before: Spans, come: Spans, begun: int) -> None:
        changes: dict[int, np.ndarray] = {}  # whole, below, up to, and how many spans are long
        # In one order, whatever the order of arrival: sums of parts are the same in all buckets.
        for spans, least in ((before, None), (come, begun // pane)):
            for (_, start, stop), (whole, own, below) in sorted(spans.items()):
                first, last = start // pane, -(-stop // pane)
                rows = np.array([whole, below, below + own, 0.0]) / (last - first)
                rows[3] = last - first > 1
                if least is not None:
                    first = max(first, least)
                if first < last:
                    changes[first] = changes.get(first, 0.0) + rows
                    changes[last] = changes.get(last, 0.0) - rows
        edges = sorted(changes)
        rows = np.cumsum([changes[edge] for edge in edges], axis=0) if edges else np.empty((0, 4))
        self._panes = [
            Sent(first, stop - first, whole, below, up_to, is_mean=long > 0)
            for (first, stop), (whole, below, up_to, long) in zip(
                pairwise(edges), rows.tolist(), strict=False
            )
        ]

    def __call__(self, first: int | None, stop: int) -> Iterator[Sent]:
        """The panes from one on, or from the first on, and before another, by their numbers."""
        at = 0 if first is None else bisect_right(self._panes, first, key=lambda own: own.first) - 1
        for own in islice(self._panes, max(0, at), None):
            if own.first >= stop:
                return
            begin = own.first if first is None else max(own.first, first)
            panes = min(own.first + own.panes, stop) - begin
            if panes > 0:
                yield own._replace(first=begin, panes=panes)
