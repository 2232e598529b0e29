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
(`operators/load_shedding/tokens.py`). In a batch run buckets come to a pane at different times, and all
rows are counted beforehand; what a bucket would hold is then the most that it ever would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from windrow.operators.columns.arrow_types import less_delay
from windrow.operators.joins.join_inputs import can_match
from windrow.physical.load_shedding.limits import Shedding
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.run.spark.shed_pane_counts import (
    COUNTED,
    Ints,
    PaneCounts,
    SentPanes,
    Span,
    Spans,
    counts_of,
    most_held,
)
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.engine.base import Operator
    from windrow.operators.load_shedding.join import ShedJoinOp
    from windrow.operators.routing.partition import Buckets


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

    def to_store(self, node: SheddingJoin, watermark: int) -> list[list[int]]:
        """What is left of all once the query stands at a watermark, as rows of numbers."""
        instant = less_delay(watermark, max(child.delay for child in node.inputs))
        if MIN_TICK < instant < MAX_TICK:
            instant = instant // node.pane * node.pane
        spans = dict(self.before)
        for span, rows in self.come.items():
            _add(spans, span, rows)
        return [[*span, *rows] for span, rows in sorted(_reached(node, spans, instant).items())]

    def held(self, node: SheddingJoin, instant: int, until: int) -> tuple[int, int]:
        """Rows that this bucket, and that all would hold where panes are decided to an instant.

        Of the rows at hand those count that begin before another instant:

            before     [ instant - retention .................... and all that wait
            come       [ instant - retention .... until )
        """
        come = {span: rows for span, rows in self.come.items() if span[1] < until}
        alive = [
            *_reached(node, self.before, instant).values(),
            *_reached(node, come, instant).values(),
        ]
        return sum(own for _, own, _ in alive), sum(whole for whole, _, _ in alive)

    def sent(self, node: SheddingJoin, begun: int) -> SentPanes:
        """What buckets are sent, pane by pane; `begun` is the query's watermark as it began."""
        instant = less_delay(begun, max(child.delay for child in node.inputs))
        return SentPanes(node.pane, self.before, self.come, instant)


def _add(spans: Spans, span: Span, rows: Sequence[int]) -> None:
    whole, own, below = spans.get(span, (0, 0, 0))
    spans[span] = whole + rows[0], own + rows[1], below + rows[2]


def _reached(node: SheddingJoin, spans: Spans, instant: int) -> Spans:
    """The spans with rows that are held where panes are decided to an instant."""
    reach = [max(0, node.retention(port)) for port in range(len(node.inputs))]
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
    def of(cls, node: SheddingJoin, counted: pa.Table, buckets: int) -> Beforehand:
        """By all counts, in any order."""
        by_span = [(name, "ascending") for name in ("port", "start", "stop")]
        return cls(most_held(node, counted, buckets), counted.sort_by(by_span))

    def sent(self, node: SheddingJoin, bucket: int) -> SentPanes:
        """What all are sent, pane by pane, as one bucket looks at it."""
        homes, *spans, rows = (self.counted.column(name).to_numpy() for name in COUNTED.names)
        is_first = np.ones(len(rows), np.bool_)
        is_first[1:] = np.any([own[1:] != own[:-1] for own in spans], axis=0)
        first = np.flatnonzero(is_first)
        sums = [np.add.reduceat(rows * own, first) for own in (1, homes == bucket, homes < bucket)]
        keys = zip(*(own[first].tolist() for own in spans), strict=True)
        return SentPanes(
            node.pane,
            dict(zip(keys, zip(*(own.tolist() for own in sums), strict=True), strict=True)),
            {},
            MIN_TICK,
        )


@dataclass(frozen=True)
class ShedDemand:
    """How a join that sheds is divided among the buckets of its stage.

    Attributes:
        join: what each bucket computes, with an equal part of what there is.
        whole: what there is for the query.
        buckets: how many buckets there are.
        beforehand: in a batch run, what they will be sent.
    """

    join: SheddingJoin
    whole: Shedding
    buckets: int
    beforehand: Beforehand | None = None

    @classmethod
    def of(cls, join: SheddingJoin, buckets: int) -> ShedDemand | None:
        """How a join is divided among so many buckets; None where there is nothing to divide."""
        return None if buckets == 1 else cls(join.in_bucket(buckets), join.shedding, buckets)

    def counts(
        self, port: int, batch: ChangeBatch, rows: Ints, buckets: Buckets
    ) -> PaneCounts | None:
        """Counts the rows that a map task sends from a port; None where none has a time.

        `rows` has the number of a row for each copy of it, `buckets` where the copy goes.
        """
        is_counted = can_match(self.join, port, batch)[rows]
        return counts_of(self.join, batch.times[rows], buckets, self.buckets, is_counted)

    def counted(self, counts: pa.Table) -> ShedDemand:
        """The same in a batch run, all of whose rows have been counted."""
        return replace(self, beforehand=Beforehand.of(self.join, counts, self.buckets))

    def turn(self, stored: Iterable[Sequence[int]], blobs: Iterable[bytes], begun: int) -> ShedTurn:
        """One micro-batch of one bucket: what the one before has left, and what map tasks tell.

        `begun` is the query's watermark as it began.
        """
        delay = max(child.delay for child in self.join.inputs)
        return ShedTurn(self, begun, *Needs.told(stored, blobs, less_delay(begun, delay)))

    def node_of(self, node: PhysicalNode, bucket: int) -> PhysicalNode:
        """In a batch run, what a bucket computes: a join by some plan, with its part of the memory."""
        assert self.beforehand is not None
        join, most = cast("SheddingJoin", node), self.beforehand.most
        part = part_of(self.whole, join.shedding, most[bucket], sum(most))
        return replace(join, shedding=part)

    def follow_beforehand(self, operator: Operator, node: PhysicalNode, bucket: int) -> None:
        """In a batch run, gives an operator its part of the probes; that of the memory stays."""
        assert self.beforehand is not None
        join = cast("SheddingJoin", node)
        sent = self.beforehand.sent(join, bucket)
        cast("ShedJoinOp", operator).follow(self.whole, lambda *_: join.shedding, sent)


@dataclass(frozen=True)
class ShedTurn:
    """A micro-batch of one bucket of a join that sheds, begun with that watermark of the query.

    `needs` are what buckets would hold with its rows; `newest`, by port, the newest time that map tasks
    tell of.
    """

    demand: ShedDemand
    begun: int
    needs: Needs
    newest: dict[int, int]

    def follow(self, operator: Operator, after: int) -> list[list[int]]:
        """Gives an operator its part of what there is, pane by pane; what is to be stored.

        `after` is the watermark that the operator will have come to.
        """
        join, whole, needs = self.demand.join, self.demand.whole, self.needs
        cast("ShedJoinOp", operator).follow(
            whole,
            lambda *span: part_of(whole, join.shedding, *needs.held(join, *span)),
            needs.sent(join, self.begun),
        )
        return needs.to_store(join, after)
