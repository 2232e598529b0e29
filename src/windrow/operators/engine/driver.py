"""Drivers: each runs one node of a plan. A scheduler has them work off the queues between them.

    scan --[rows, clock 7]--> filter --[rows]--> operator --> ..

A queue has rows and clocks, first in first out. A clock of t says that nothing below t follows.
Clocks are in terms of the query's watermark; an operator's driver subtracts the delays below it by
itself.

The paper's words for the same: a tuple carries minTS and maxTS, the least and the greatest time of
the tuples that it is made of. In our rows `time` is the tuple's maxTS, in the order of which
operators take it into account; `end` follows from its minTS: with one window w, end = minTS + w +
1, with several the least of these over its tuples. A clock is the maxTS that an operator has come
to.

    minTS      maxTS = time               end = minTS + w + 1
    ---+---------+============================)-------------->
                 alive, and taken into account when the clock has passed `time`

The drivers of operators are here, those without state in `row_drivers.py`. A node names its driver.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

from windrow.operators.columns.arrow_types import less_delay
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import build
from windrow.operators.engine.late_rule import LateRule
from windrow.operators.engine.team import BUCKETS, OF_BUCKETS
from windrow.operators.expressions.evaluate import Evaluator
from windrow.physical.partitioning.threads import spread_over
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from windrow.operators.engine.base import Counters, Operator, Snapshot
    from windrow.operators.engine.late_rule import Collector
    from windrow.operators.engine.memory import Memory
    from windrow.operators.engine.team import Team
    from windrow.operators.routing.partition import Own
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.physical.nodes.scans import ScanTable


@dataclass(frozen=True, slots=True)
class Clock:
    """Nothing below this instant follows on the queue."""

    instant: int


Queue: TypeAlias = deque[ChangeBatch | Clock]

InTime: TypeAlias = Callable[[ChangeBatch, int], ChangeBatch]
"""The late rule of an operator for one of its ports: what of rows is in time by a watermark."""


@dataclass(frozen=True)
class MicroBatch:
    """What arrived between two watermarks of the query.

    Attributes:
        arrived: in process, a batch per stream.
        before: the watermark as it begins.
        after: the watermark once it has been taken.
        ended: the streams that will deliver nothing any more.
        handed: in a worker, a batch per port of the stage, or None.
        times: the ticks of what arrived, of those streams whose were read before.
    """

    arrived: Mapping[str, pa.RecordBatch]
    before: int
    after: int
    ended: frozenset[str] = field(default_factory=frozenset)
    handed: Sequence[ChangeBatch | None] = ()
    times: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)


def _no_table(table: ScanTable) -> ChangeBatch:
    raise AssertionError(f"{table.title}: there are no tables here")


@dataclass(frozen=True)
class Setting:
    """What drivers are given beside their nodes.

    Attributes:
        on_late: "count" (drop late rows), "keep" (drop, and hand to `keep_late`) or "fail".
        keep_late: takes the port and rows that are late.
        memory: bounds what operators hold together; None: nothing does.
        own: in one bucket of several, which rows an operator answers for; None: for all.
        team: works on the buckets of an operator; None: each has one.
        evaluator: computes expressions.
        read_table: the rows of a table.
        table_version: changes when these are others than before.
    """

    on_late: str = "count"
    keep_late: Collector | None = None
    memory: Memory | None = None
    own: Own | None = None
    team: Team | None = None
    evaluator: Evaluator = field(default_factory=Evaluator)
    read_table: Callable[[ScanTable], ChangeBatch] = _no_table
    table_version: Callable[[ScanTable], int] = lambda _: 0


class Driver(ABC):
    """Runs a node: takes entries of the queues below it, and fills one.

    A step is small: it takes one entry of each queue, or gives one batch of the results that it has
    begun to compute. So the scheduler can have what was given used before more is computed.

    Attributes:
        node: what it computes.
        below: the drivers that feed it.
        out: the queue that it fills.
        clocks: per driver below, the latest clock that came from there, or was probed; of a scan, its
            own.
        under_way: results that it has begun to compute; None for none.
    """

    def __init__(self, node: PhysicalNode, setting: Setting | None = None) -> None:  # noqa: ARG002
        self.node = node
        self.below: list[Driver] = []
        self.out: Queue = deque()
        self.clocks: list[int] = []
        self.under_way: Iterator[ChangeBatch] | None = None
        self._has_news = False

    @property
    def fed_by(self) -> Sequence[PhysicalNode]:
        """The nodes whose drivers feed it."""
        return self.node.inputs

    def feed(self, below: Sequence[Driver], in_time: InTime | None = None) -> None:  # noqa: ARG002
        """Has it fed by drivers; `in_time` is the late rule of the operator above."""
        self.below = list(below)
        self.clocks = [MIN_TICK] * len(self.below)

    def rule_below(self, port: int, in_time: InTime | None) -> InTime | None:  # noqa: ARG002
        """The late rule for what feeds a port, where `in_time` is that of the operator above."""
        return in_time

    @property
    def has_work(self) -> bool:
        """Whether entries wait, or results that it has begun to compute."""
        if self.under_way is not None:
            return True
        for driver in self.below:  # noqa: SIM110  # asked most often of all
            if driver.out:
                return True
        return False

    @abstractmethod
    def begin(self, work: MicroBatch) -> None:
        """Takes the next entries: results of rows are then under way."""

    @abstractmethod
    def get_time(self, watermark: int) -> int:
        """The answer to a probe: the instant below which it will give nothing any more."""

    def late_numbers(
        self,
        stream: str,  # noqa: ARG002
        arrived: pa.RecordBatch,  # noqa: ARG002
        watermark: int,  # noqa: ARG002
    ) -> Iterator[ChangeBatch]:
        """What it would give of rows of a stream that are late, by their numbers in place of times.

        Nothing where an operator is on their way: what comes out of it is in time. What drivers
        without state do leaves times untouched.
        """
        return iter(())

    def resume(self, clocks: Sequence[int], watermark: int) -> None:  # noqa: ARG002
        """Goes on with the clocks of an earlier run, which had come to that watermark."""
        self.clocks = list(clocks)

    def follow(self, node: PhysicalNode) -> int:
        """Goes on, with those below, by a plan of the same shape; gives how many run otherwise now."""
        self.node = node
        return self._follow_below(node)

    def _follow_below(self, node: PhysicalNode) -> int:
        return sum(driver.follow(own) for driver, own in zip(self.below, node.inputs, strict=False))

    def give(self, rows: ChangeBatch) -> None:
        """Hands on rows."""
        if len(rows):
            self.out.append(rows)
            self._has_news = True

    def tell(self, instant: int) -> None:
        """Hands on the clock that it has come to, behind rows that it gave; the last one always."""
        if self._has_news or instant == MAX_TICK:
            self._has_news = False
            self.out.append(Clock(instant))


class OperatorDriver(Driver):
    """Drives a stateful operator, behind the late rule, by a clock of its own.

    In a micro-batch it takes rows, less those that are late. When all that there is has come to it, it
    has its turn: it is advanced to a clock, less the delays of the operators below it. To which one, and
    whether at all, is the scheduling's choice:

        clock    received   the least over its inputs of the clocks that came with rows
                 probed     the least over its inputs of what the drivers below answer, asked now

        when     by input   rows or a clock have come since it was last advanced
                 by time    also if a row that it holds would come or go by that clock

    The probe path from an operator down: a driver without state asks those below it, unless rows are on
    their way through it, and the path ends at another operator, which answers with its local clock, or
    at a scan, which answers with the query's watermark:

        MAX --get_time()--> filter --get_time()--> JOIN      "7": rows from 7 on may be held there
                                                     |
                                         scan a ----- ------ scan b

    So no row expires while an older one is on the way, or held below.

    Attributes:
        operator: what it drives.
        late: the late rule.
        clock: the instant that it has come to.
    """

    def __init__(self, node: PhysicalNode, setting: Setting | None = None) -> None:
        super().__init__(node)
        setting = setting or Setting()
        self._own, self._team = setting.own, setting.team
        self.operator = _new_operator(node, self._own, self._team)
        self.late = LateRule(node, setting.on_late, setting.keep_late)
        self.clock = MIN_TICK
        self._memory = setting.memory
        if self._memory is not None:
            self._memory.watch(node.title, self.operator)
        self._delay = max(child.delay for child in node.inputs)
        self._is_of_streams = node.fed_by_streams
        self._has_input = False

    @property
    def counters(self) -> Counters:
        """The operator's figures, late rows included."""
        return self.operator.counters

    def begin(self, work: MicroBatch) -> None:
        """Takes a clock, or a batch of every queue that has rows."""
        self._has_input = True
        for port, driver in enumerate(self.below):
            if driver.out and isinstance(first := driver.out[0], Clock):
                driver.out.popleft()
                self.clocks[port] = max(self.clocks[port], first.instant)
                return
        entries = [driver.out.popleft() if driver.out else None for driver in self.below]
        self.under_way = self.push(cast("list[ChangeBatch | None]", entries), work.before)

    def push(
        self, batches: Sequence[ChangeBatch | None], watermark_before: int
    ) -> Iterator[ChangeBatch]:
        """Takes a part of a micro-batch, one batch or None per port; gives the results it completes."""
        timely = [
            self.in_time(port, batch, watermark_before)
            if batch is not None and self._is_of_streams[port]
            else batch
            for port, batch in enumerate(batches)
        ]
        if any(batch is not None and len(batch) for batch in timely):
            yield from self.operator.push(timely)
            if self._memory is not None:
                self._memory.settle()

    def in_time(self, port: int, batch: ChangeBatch, watermark: int) -> ChangeBatch:
        """The rows of a stream that are not late; the others are dealt with."""
        return self.late.in_time(port, batch, watermark, self.operator)

    def rule_below(self, port: int, in_time: InTime | None) -> InTime | None:  # noqa: ARG002
        """Its own."""
        return partial(self.in_time, port)

    def begin_turn(self, watermark: int, *, probes: bool, is_woken: bool) -> None:
        """Begins to end a micro-batch.

        Args:
            watermark: the query's, once the micro-batch has been taken.
            probes: whether it asks the drivers below for their clocks.
            is_woken: whether time alone is a reason to advance it.
        """
        if probes:
            self._probe(watermark)
        clock = max(self.clock, min(watermark, *self.clocks))
        is_due = self._has_input or self.due() <= clock
        advances = self._has_input or (is_woken and is_due)
        self._has_input = False
        if advances or not is_due:
            self.clock = clock
        self.under_way = self._turn(advances=advances)

    def _probe(self, watermark: int) -> None:
        """Asks the drivers below for their clocks; what waits on a queue may be below them."""
        for port, driver in enumerate(self.below):
            if not driver.out:
                self.clocks[port] = max(self.clocks[port], driver.get_time(watermark))

    def _turn(self, *, advances: bool) -> Iterator[ChangeBatch]:
        if advances:
            yield from self.advance(self.clock)
        yield from self.settle()
        self.tell(self.clock)

    def advance(self, watermark_after: int) -> Iterator[ChangeBatch]:
        """Gives what the query's watermark makes final, and drops what nothing can need."""
        watermark = less_delay(watermark_after, self._delay)
        if watermark > MIN_TICK:
            yield from self.operator.advance(watermark)

    def settle(self) -> Iterator[ChangeBatch]:
        """Ends a micro-batch: no more is held than may be."""
        yield from self.operator.settle()
        if self._memory is not None:
            self._memory.settle()

    def due(self) -> int:
        """The least watermark of the query at which `advance` gives or drops a row."""
        due = self.operator.due()
        return due if due in {MIN_TICK, MAX_TICK} else min(due + self._delay, MAX_TICK)

    def get_time(self, watermark: int) -> int:  # noqa: ARG002
        """Its local clock, wherever the query's watermark is."""
        return self.clock

    def resume(self, clocks: Sequence[int], watermark: int) -> None:
        """Goes on with the clocks of an earlier run, which had come to that watermark."""
        super().resume(clocks, watermark)
        self.clock = min(watermark, *clocks)

    def follow(self, node: PhysicalNode) -> int:
        """Goes on by another plan of the same step, if that runs otherwise."""
        changed = self._follow_below(node)
        if node.runs_like(self.node):
            return changed
        self.become(node)
        return changed + 1

    def become(self, node: PhysicalNode) -> None:
        """Goes on by another plan of the same step, with the state and the figures of this one."""
        snapshot, figures = self.operator.snapshot(), self.operator.counters
        self.operator = _operator_for(snapshot, node, self._own, self._team)
        self.operator.restore(snapshot)
        self.operator.counters.add(replace(figures, stored=0, intermediate=0, state_bytes=0))
        self.node = node

    def snapshot(self) -> Snapshot:
        """The operator's state between two micro-batches."""
        return self.operator.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back, in the buckets that it has."""
        if not _suits(self.operator, snapshot):
            self.operator = _operator_for(snapshot, self.node, self._own, self._team)
            if self._memory is not None:
                self._memory.watch(self.node.title, self.operator)
        self.operator.restore(snapshot)


def _new_operator(node: PhysicalNode, own: Own | None, team: Team | None) -> Operator:
    """A new operator of a stateful node, in as many buckets as there are threads for."""
    buckets = 1 if team is None else spread_over(node, team.threads).buckets
    return _operator(node, own, team, buckets)


def _operator_for(
    snapshot: Snapshot, node: PhysicalNode, own: Own | None, team: Team | None
) -> Operator:
    """A new operator of a node that goes on from a state, in the buckets that it has."""
    return _operator(node, own, team, _buckets_of(snapshot))


def _suits(operator: Operator, snapshot: Snapshot) -> bool:
    """Whether an operator has the buckets of a state."""
    return operator.buckets_used == _buckets_of(snapshot)


def _operator(node: PhysicalNode, own: Own | None, team: Team | None, buckets: int) -> Operator:
    if buckets == 1:
        return build(node, own)
    # It is loaded where it is needed, with the kernels that route rows.
    from windrow.operators.engine.bucketed import BucketedOp  # noqa: PLC0415

    return BucketedOp(node, team, buckets)


def _buckets_of(snapshot: Snapshot) -> int:
    return snapshot.numbers[BUCKETS] if snapshot.kind.startswith(OF_BUCKETS) else 1
