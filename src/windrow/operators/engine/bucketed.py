"""An operator whose rows are spread over buckets, each with an operator of its own, on several threads.

It is an operator as any other: drivers, the late rule, clocks and progress do not know of its buckets.

    push     rows --route--> bucket 0  [ operator ]  --.
                             bucket 1  [ operator ]  ---+--> results, bucket after bucket
    advance                  bucket 0  [ operator ]  --.
                             bucket 1  [ operator ]  ---+--> results, in the order of time

Each bucket takes one step, all at once; then its results are used before it takes the next, as with one
operator. Kernels, numpy and Arrow let go of the interpreter while they work on large arrays, and there
is nothing to gain with small ones: few rows are worked on by the thread that has them, bucket after
bucket.

**Order.** An operator that takes rows back gives its changes in the order of time, deletes before inserts
within an instant. So do its buckets together: what comes below the instant to which all of them have come
is put in order and given. That is done in ranges of time, each by a thread:

    bucket 0   |----- a -----|----- b -----|..      a, b: the rows of both, put in order
    bucket 1   |----- a -----|----- b ---|                  ^ all have come to here

**State.** A snapshot has the states of all buckets, and how many there are. A query that goes on from it
keeps them, however many threads it has: the bucket of a row is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from windrow.operators.columns.changes import ChangeBatch, concat, in_time_order
from windrow.operators.engine.base import Counters, Operator, Snapshot, build
from windrow.operators.engine.team import BUCKETS, OF_BUCKETS, Each, in_turn
from windrow.operators.routing.partition import own_rows, route
from windrow.physical.partitioning.threads import spread_over
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from windrow.operators.columns.chunks import ChunkBuffer
    from windrow.operators.engine.memory import Memory
    from windrow.operators.engine.team import Team
    from windrow.operators.routing.partition import Buckets, Rows
    from windrow.physical.nodes.base import PhysicalNode

Entry = TypeVar("Entry")

LEAST_ROWS = 4096
"""Fewer rows than these are not worth waking a thread for."""

MOST_WAITING = 1 << 18
"""So many rows of a bucket may wait for others to come to their time, before it takes a step again."""

_LEVELS = ("stored", "intermediate", "state_bytes")
"""The counters that say how much there is, not how much was done."""


class BucketedOp(Operator):
    """An operator per bucket, and what brings rows there and results together.

    Args:
        node: what is computed.
        team: who works; None for one thread.
        buckets: how many there are.
    """

    def __init__(self, node: PhysicalNode, team: Team | None, buckets: int) -> None:
        super().__init__()
        self._node = node
        self._partitioning = spread_over(node, buckets)
        self.buckets_used = self._partitioning.buckets
        self._parts = [
            build(node, own_rows(node, self._partitioning, bucket))
            for bucket in range(self.buckets_used)
        ]
        self._team = team
        self._counted = [Counters() for _ in self._parts]
        self._came = 0  # rows since it was last advanced

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Takes one batch per port and gives the results they complete."""
        rows = sum(len(batch) for batch in batches if batch is not None)
        self._came += rows
        each = self._each(rows)
        ports = [self._routed(port, batch, each) for port, batch in enumerate(batches)]
        steps = [
            self._pushed(bucket, [None if port is None else port[bucket] for port in ports])
            for bucket in range(self.buckets_used)
        ]
        yield from self._results(steps, each, is_ordered=self._node.takes_back)

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives what is final below the watermark, then drops what is no longer needed."""
        rows, self._came = self._came, 0
        each = self._each(self.counters.stored if watermark == MAX_TICK else rows)
        steps = [_begun(part.advance, watermark) for part in self._parts]
        yield from self._results(steps, each, is_ordered=True)

    def settle(self) -> Iterator[ChangeBatch]:
        """Ends a micro-batch."""
        for part in self._parts:
            yield from part.settle()
        self._count()

    def due(self) -> int:
        """The least watermark at which `advance` would give or drop a row of any bucket."""
        return min(part.due() for part in self._parts)

    def lose(self, rows: int) -> None:
        """Is told of rows that were late, and have come to no bucket."""
        self._parts[0].lose(rows)

    def keep_within(self, memory: Memory) -> None:
        """Is told of the memory that all buckets keep to, with the other operators of the query."""
        for part in self._parts:
            part.keep_within(memory)

    def tuples_beside(self) -> int:
        """Tuples that it holds in memory apart from the rows of its chunks."""
        return sum(part.tuples_beside() for part in self._parts)

    def buffers(self) -> Sequence[ChunkBuffer]:
        """Those of all buckets."""
        return [buffer for part in self._parts for buffer in part.buffers()]

    def snapshot(self) -> Snapshot:
        """The states of all buckets, by the number of each."""
        states = [part.snapshot() for part in self._parts]
        buffers = {
            f"{i}/{n}": own for i, one in enumerate(states) for n, own in one.buffers.items()
        }
        numbers = {
            f"{i}/{n}": own for i, one in enumerate(states) for n, own in one.numbers.items()
        }
        numbers[BUCKETS] = self.buckets_used
        return Snapshot(OF_BUCKETS + states[0].kind, buffers, numbers, states[0].version)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts the state of each bucket back."""
        kind = snapshot.kind.removeprefix(OF_BUCKETS)
        for bucket, part in enumerate(self._parts):
            buffers, numbers = _own(snapshot.buffers, bucket), _own(snapshot.numbers, bucket)
            part.restore(Snapshot(kind, buffers, numbers, snapshot.version))
        self._count()

    def _each(self, rows: int) -> Each:
        """Who does the tasks of a step about so many rows."""
        return in_turn if self._team is None or rows < LEAST_ROWS else self._team.each

    def _results(
        self, steps: Sequence[Iterator[ChangeBatch]], each: Each, *, is_ordered: bool
    ) -> Iterator[ChangeBatch]:
        yield from merged(steps, each) if is_ordered else rounds(steps, each)
        self._count()

    def _pushed(
        self, bucket: int, shares: Sequence[Callable[[], ChangeBatch] | None]
    ) -> Iterator[ChangeBatch]:
        """What the rows of a bucket give, which are picked out as the first of its steps."""
        rows = [None if share is None else share() for share in shares]
        if any(own is not None and len(own) for own in rows):
            yield from self._parts[bucket].push(rows)

    def _routed(
        self, port: int, batch: ChangeBatch | None, each: Each
    ) -> list[Callable[[], ChangeBatch]] | None:
        """Per bucket, what picks its rows out of a batch; which these are is computed here."""
        if batch is None or not len(batch):
            return None
        pieces = 1 if each is in_turn or self._team is None else self._team.threads
        bounds = [len(batch) * piece // pieces for piece in range(pieces + 1)]

        def routed(start: int, stop: int) -> tuple[Rows, Buckets]:
            piece = batch if pieces == 1 else batch.slice(start, stop)
            rows, homes = route(self._node, self._partitioning, port, piece, self.buckets_used)
            return rows + start, homes

        found = each([partial(routed, *own) for own in pairwise(bounds)])

        def picked(bucket: int) -> ChangeBatch:
            rows = np.concatenate([own[homes == bucket] for own, homes in found])
            return batch if len(rows) == len(batch) else batch.take(rows)

        return [partial(picked, bucket) for bucket in range(self.buckets_used)]

    def _count(self) -> None:
        """Adds what the buckets have done since, and how much they hold, to the operator's figures."""
        figures = vars(self.counters)
        for part, counted in zip(self._parts, self._counted, strict=True):
            seen = vars(counted)
            for name, now in vars(part.counters).items():
                figures[name] += now - seen[name]
                seen[name] = now
        for name in _LEVELS:
            figures[name] = sum(vars(part.counters)[name] for part in self._parts)


def _own(entries: Mapping[str, Entry], bucket: int) -> dict[str, Entry]:
    """The entries of a bucket, by the names that it gave them."""
    start = f"{bucket}/"
    return {n.removeprefix(start): own for n, own in entries.items() if n.startswith(start)}


def _begun(
    advance: Callable[[int], Iterator[ChangeBatch]], watermark: int
) -> Iterator[ChangeBatch]:
    """The same results, of which none is computed before the first is asked for."""
    yield from advance(watermark)


def rounds(steps: Sequence[Iterator[ChangeBatch]], each: Each) -> Iterator[ChangeBatch]:
    """The results of all buckets, a step of each at a time."""
    going = list(steps)
    while going:
        given = each([partial(next, own, None) for own in going])
        yield from (rows for rows in given if rows is not None)
        going = [own for own, rows in zip(going, given, strict=True) if rows is not None]


def merged(steps: Sequence[Iterator[ChangeBatch]], each: Each) -> Iterator[ChangeBatch]:
    """The results of all buckets in the order of time, where those of each bucket are.

    Where those of one are not, nobody was promised an order: all are given as they come.
    """
    waiting: list[list[ChangeBatch]] = [[] for _ in steps]
    reached = [MIN_TICK] * len(steps)
    going = list(range(len(steps)))
    while going:
        least = min(reached[at] for at in going)
        asked = [at for at in going if reached[at] == least or _rows(waiting[at]) < MOST_WAITING]
        given = each([partial(next, steps[at], None) for at in asked])
        is_ordered = True
        for at, rows in zip(asked, given, strict=True):
            if rows is None:
                going.remove(at)
            elif len(rows):
                waiting[at].append(rows)
                is_ordered &= rows.times[0] >= reached[at] and _ascends(rows)
                reached[at] = int(rows.times[-1])
        if not is_ordered:
            yield from chain.from_iterable(waiting)
            yield from rounds([steps[at] for at in going], each)
            return
        bound = min((reached[at] for at in going), default=None)
        runs = [taken for own in waiting for taken in _taken(own, bound)]
        yield from _in_order(runs, each)


def _rows(batches: Sequence[ChangeBatch]) -> int:
    return sum(map(len, batches))


def _ascends(rows: ChangeBatch) -> bool:
    return bool((rows.times[:-1] <= rows.times[1:]).all())


def _taken(waiting: list[ChangeBatch], bound: int | None) -> list[ChangeBatch]:
    """Takes the rows below the bound, or all, out of those of a bucket that wait."""
    stops = [
        len(rows) if bound is None else int(np.searchsorted(rows.times, bound)) for rows in waiting
    ]
    taken = [rows.slice(0, stop) for rows, stop in zip(waiting, stops, strict=True) if stop]
    waiting[:] = [
        rows.slice(stop, len(rows))
        for rows, stop in zip(waiting, stops, strict=True)
        if stop < len(rows)
    ]
    return taken


def _in_order(runs: Sequence[ChangeBatch], each: Each) -> Iterator[ChangeBatch]:
    """The rows of some batches, each in the order of time, put in that order: range after range."""
    if len(runs) < 2:
        yield from runs
        return
    longest = max(runs, key=len)
    ranges = 2 if len(longest) > LEAST_ROWS else 1
    cuts = [int(longest.times[len(longest) * one // ranges]) for one in range(1, ranges)]
    stops = [[0, *np.searchsorted(run.times, cuts).tolist(), len(run)] for run in runs]

    def ordered(one: int) -> ChangeBatch:
        own = [
            run.slice(stop[one], stop[one + 1])
            for run, stop in zip(runs, stops, strict=True)
            if stop[one] < stop[one + 1]
        ]
        if len(own) == 1:
            return own[0]
        rows = concat(own)
        return rows.sorted_by(rows.times) if rows.signs is None else in_time_order(rows)

    tasks = [
        partial(ordered, one)
        for one in range(ranges)
        if any(stop[one] < stop[one + 1] for stop in stops)
    ]
    yield from each(tasks)
