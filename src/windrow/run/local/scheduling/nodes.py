"""The operators of a plan as a scheduler sees them: each takes entries of queues, and fills one.

A step of a node is small: it takes one entry, or gives one batch of the results that it has begun
to compute. So the scheduler can have what was given used before more is computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import pyarrow as pa

from windrow.operators.changes import ChangeBatch
from windrow.operators.evaluate import Evaluator, RowByRow
from windrow.operators.scan import scan
from windrow.operators.table_join import TableJoiner
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.run.local.scheduling.queues import Clock, Queue, Round
from windrow.schema import MAX_TICK, MIN_TICK

LateRule = Callable[[ChangeBatch, int], ChangeBatch]
"""What of the rows of a stream is not late by the watermark; the rest is dealt with."""


class Node(ABC):
    """An operator with the nodes that feed it, and the queue that it fills.

    Attributes:
        spec: what it computes.
        below: the nodes that feed it; it takes from their queues.
        out: the queue that it fills.
        clocks: per node below, the latest clock that came from there, or was probed; of a scan, its
            own.
    """

    def __init__(self, spec: PhysicalNode, below: Sequence[Node] = ()) -> None:
        self.spec = spec
        self.below = list(below)
        self.out: Queue = deque()
        self.clocks = [MIN_TICK] * len(self.below)
        self._has_news = False

    @property
    def is_of_streams(self) -> bool:
        """Whether its rows come from streams without a stage on their way."""
        return all(node.is_of_streams for node in self.below)

    @property
    @abstractmethod
    def has_work(self) -> bool:
        """Whether there is something to do for a step."""

    @abstractmethod
    def step(self, work: Round) -> None:
        """Does a small piece of work."""

    @abstractmethod
    def get_time(self, watermark: int) -> int:
        """The answer to a probe: the instant below which it will give nothing any more."""

    def resume(self, clocks: Sequence[int], watermark: int) -> None:  # noqa: ARG002
        """Goes on with the clocks of an earlier run, which had come to that watermark."""
        self.clocks = list(clocks)

    def _give(self, rows: ChangeBatch) -> None:
        if len(rows):
            self.out.append(rows)
            self._has_news = True

    def _tell(self, instant: int) -> None:
        """Hands on the clock that it has come to, behind rows that it gave; the last one always."""
        if self._has_news or instant == MAX_TICK:
            self._has_news = False
            self.out.append(Clock(instant))


class ScanNode(Node):
    """Reads what has arrived of one stream."""

    spec: ScanStream

    def __init__(self, spec: ScanStream) -> None:
        super().__init__(spec)
        self.clocks = [MIN_TICK]
        self._arrived: pa.RecordBatch | None = None

    @property
    def has_work(self) -> bool:
        """Whether rows have arrived that were not read yet."""
        return self._arrived is not None

    def take(self, work: Round) -> None:
        """Takes its part of a micro-batch; of a stream that has ended, word of that."""
        arrived = work.arrived.get(self.spec.stream)
        if arrived is not None and arrived.num_rows:
            self._arrived = arrived
        elif self.spec.stream in work.ended and self.clocks != [MAX_TICK]:
            self.clocks = [MAX_TICK]
            self._tell(MAX_TICK)

    def step(self, work: Round) -> None:
        """Gives the rows, and the watermark that they bring."""
        assert self._arrived is not None
        self._give(scan(self.spec, self._arrived))
        self._arrived, self.clocks = None, [work.after]
        self._tell(work.after)

    def get_time(self, watermark: int) -> int:
        """The query's watermark, unless rows wait to be read."""
        return self.clocks[0] if self.has_work else watermark


class FedNode(Node):
    """A node that takes entries of the queues below it."""

    def __init__(self, spec: PhysicalNode, below: Sequence[Node]) -> None:
        super().__init__(spec, below)
        self._under_way: Iterator[ChangeBatch] | None = None

    @property
    def has_work(self) -> bool:
        """Whether entries wait, or results that it has begun to compute."""
        if self._under_way is not None:
            return True
        for node in self.below:  # noqa: SIM110  # asked most often of all
            if node.out:
                return True
        return False

    def step(self, work: Round) -> None:
        """Takes the next entry of a queue, or gives one batch of what it has begun."""
        if self._under_way is None:
            port = 0
            while not self.below[port].out:
                port += 1
            entry = self.below[port].out.popleft()
            if isinstance(entry, Clock):
                self.clocks[port] = max(self.clocks[port], entry.instant)
                self._heard()
                return
            self._under_way = self._results(port, entry, work)
        batch = next(self._under_way, None)
        if batch is None:
            self._under_way = None
        else:
            self._give(batch)

    @abstractmethod
    def _results(self, port: int, rows: ChangeBatch, work: Round) -> Iterator[ChangeBatch]:
        """Begins to compute what rows on a port give."""

    @abstractmethod
    def _heard(self) -> None:
        """A clock has come."""


class PassingNode(FedNode):
    """A node without state: rows and clocks pass through it."""

    def get_time(self, watermark: int) -> int:
        """What those below answer; the clocks that came, while rows are on their way."""
        if self.has_work:
            return min(self.clocks)
        return min(node.get_time(watermark) for node in self.below)

    def _heard(self) -> None:
        self._tell(min(self.clocks))


class StatelessNode(PassingNode):
    """A spec that is evaluated batch by batch."""

    @abstractmethod
    def apply(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        """What rows become."""

    def _results(self, port: int, rows: ChangeBatch, work: Round) -> Iterator[ChangeBatch]:  # noqa: ARG002
        return self.apply(rows)


class RowByRowNode(StatelessNode):
    """A filter, a projection, or a window that sets ends."""

    spec: RowByRow

    def __init__(self, spec: RowByRow, below: Node, evaluator: Evaluator) -> None:
        super().__init__(spec, [below])
        self._evaluator = evaluator

    def apply(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        """The rows after the spec."""
        yield self._evaluator.apply(self.spec, rows)


class TableJoinNode(StatelessNode):
    """A join with a table, which is read when the first rows come."""

    def __init__(self, spec: PhysicalNode, below: Node, joiner: Callable[[], TableJoiner]) -> None:
        super().__init__(spec, [below])
        self._make = joiner

    @cached_property
    def _joiner(self) -> TableJoiner:
        return self._make()

    def apply(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        """The rows with those of the table."""
        return self._joiner.join(rows)


class UnionNode(PassingNode):
    """UNION ALL: the rows of all nodes below, as they come.

    `late_rules`: per node below, the late rule of the stage above where that stage cannot tell whose
    rows are whose, since a stream stands beside what has a stage.
    """

    def __init__(
        self, spec: PhysicalNode, below: Sequence[Node], late_rules: Sequence[LateRule | None]
    ) -> None:
        super().__init__(spec, below)
        self._late_rules = late_rules

    def _results(self, port: int, rows: ChangeBatch, work: Round) -> Iterator[ChangeBatch]:
        in_time = self._late_rules[port]
        yield rows if in_time is None else in_time(rows, work.before)
