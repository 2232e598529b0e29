"""Drivers of nodes without state, by row or by instant: scan, filter, project, net changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from windrow.operators.columns.arrow_types import ticks_of
from windrow.operators.columns.changes import ChangeBatch, concat
from windrow.operators.columns.signs import signs_of
from windrow.operators.engine.driver import Clock, Driver, InTime, MicroBatch, Setting
from windrow.operators.engine.late_rule import late_rows
from windrow.operators.expressions.evaluate import RowByRow
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from windrow.operators.joins.table_join import TableJoiner
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.physical.nodes.scans import ScanStream, ScanTable
    from windrow.physical.nodes.stateless import TableJoinRows
    from windrow.physical.query import PhysicalQuery


class ChangelogOutput:
    """What is left to do with the rows of an answer, as they come.

    The changes of an instant follow one another, and all come in one micro-batch, that in which it is
    final. The last instant of a batch may go on in the next one, and waits for it.

    Args:
        nets: whether what an instant undoes is taken out.
        pairs_by: the key by which a delete and an insert are an update; None: none are.
    """

    def __init__(self, *, nets: bool, pairs_by: tuple[str, ...] | None) -> None:
        self._nets = nets
        self._pairs_by = pairs_by
        self._waiting: list[ChangeBatch] = []

    @classmethod
    def of(cls, query: PhysicalQuery) -> ChangelogOutput:
        """What is left to do with the rows of a query."""
        return cls(nets=query.needs_netting, pairs_by=query.pairs_by)

    @property
    def does_nothing(self) -> bool:
        """Whether rows pass as they are."""
        return not self._nets and self._pairs_by is None

    def push(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        """Takes rows, and gives those of instants that are whole."""
        if self.does_nothing:
            yield rows
            return
        if not len(rows):
            return
        others = np.flatnonzero(rows.times != rows.times[-1])
        before_last = int(others[-1]) + 1 if len(others) else 0
        is_next = bool(self._waiting) and self._waiting[-1].times[-1] != rows.times[0]
        if before_last or is_next:
            whole = concat([*self._waiting, rows.slice(0, before_last)])
            self._waiting = []
            yield from self._finished(whole)
        self._waiting.append(rows.slice(before_last, len(rows)))

    def settle(self) -> Iterator[ChangeBatch]:
        """Ends a micro-batch: what waits is whole."""
        if self._waiting:
            whole, self._waiting = concat(self._waiting), []
            yield from self._finished(whole)

    def _finished(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        # Its kernels are loaded where there is something to do.
        from windrow.operators.feeds.net_changes import net_changes, pair_updates  # noqa: PLC0415

        left = net_changes(rows) if self._nets else rows
        if len(left):
            yield left if self._pairs_by is None else pair_updates(left, self._pairs_by)


def scan(
    node: ScanStream, rows: pa.RecordBatch, times: NDArray[np.int64] | None = None
) -> ChangeBatch:
    """The rows of a stream under the plan's flat names, with their event times in ticks.

    They are in canonical Arrow types (`arrow_types`) and never expire; a NULL time is MIN_TICK. `times`
    are the ticks where they are known.

    Raises:
        DataError: a change is of no known kind.

    Examples:
        >>> from windrow.physical.nodes.scans import ScanStream
        >>> from windrow.schema import Field, Schema
        >>> columns = Schema((Field("x.k", "string"),))
        >>> node = ScanStream("a", "x", ("k",), columns, "t", "bigint", 0)
        >>> scan(node, pa.record_batch({"k": ["u"], "t": [7]})).times
        array([7])
    """
    columns = pa.RecordBatch.from_arrays(
        [rows.column(name) for name in node.columns], names=list(node.schema.names)
    )
    if times is None:
        times = ticks_of(rows.column(node.time))
    if node.changes is None:
        return ChangeBatch(columns, times)
    return ChangeBatch(columns, times, None, signs_of(rows.column(node.changes), node.changes))


class LeafDriver(Driver):
    """What no other driver feeds: it takes its part of a micro-batch."""

    @abstractmethod
    def take(self, work: MicroBatch) -> None:
        """Takes its part of a micro-batch."""


class ScanDriver(LeafDriver):
    """Reads what has arrived of one stream."""

    node: ScanStream

    def __init__(self, node: ScanStream, setting: Setting | None = None) -> None:
        super().__init__(node, setting)
        self._arrived: pa.RecordBatch | None = None

    def feed(self, below: Sequence[Driver], in_time: InTime | None = None) -> None:  # noqa: ARG002
        """Nobody feeds it: its clock is its own."""
        assert not below
        self.clocks = [MIN_TICK]

    @property
    def has_work(self) -> bool:
        """Whether rows have arrived that were not read yet."""
        return self._arrived is not None

    def take(self, work: MicroBatch) -> None:
        """Takes its part of a micro-batch; of a stream that has ended, word of that."""
        arrived = work.arrived.get(self.node.stream)
        if arrived is not None and arrived.num_rows:
            self._arrived = arrived
        elif self.node.stream in work.ended and self.clocks != [MAX_TICK]:
            self.clocks = [MAX_TICK]
            self.tell(MAX_TICK)

    def begin(self, work: MicroBatch) -> None:
        """Gives the rows, and the watermark that they bring."""
        assert self._arrived is not None
        self.give(scan(self.node, self._arrived, work.times.get(self.node.stream)))
        self._arrived, self.clocks = None, [work.after]
        self.tell(work.after)

    def get_time(self, watermark: int) -> int:
        """The query's watermark, unless rows wait to be read."""
        return self.clocks[0] if self.has_work else watermark

    def late_numbers(
        self, stream: str, arrived: pa.RecordBatch, watermark: int
    ) -> Iterator[ChangeBatch]:
        """The late rows, if they are of its stream."""
        if stream == self.node.stream:
            rows = scan(self.node, arrived)
            numbers = late_rows(rows.times, watermark)
            if len(numbers):
                yield ChangeBatch(rows.take(numbers).columns, numbers)


class PortDriver(LeafDriver):
    """In a worker, hands on what has come to one port of a stage, from whatever lies below it."""

    def __init__(self, node: PhysicalNode, port: int) -> None:
        super().__init__(node)
        self._port = port

    def take(self, work: MicroBatch) -> None:
        """Hands on its rows at once, so that those of all ports meet in one push."""
        rows = work.handed[self._port]
        if rows is not None:
            self.give(rows)

    def begin(self, work: MicroBatch) -> None:
        """Never has anything left to do."""

    def get_time(self, watermark: int) -> int:
        """The query's watermark."""
        return watermark


class BatchDriver(Driver):
    """A driver without state: rows and clocks pass through it, batch by batch."""

    def begin(self, work: MicroBatch) -> None:
        """Takes the next entry of a queue."""
        port = 0
        while not self.below[port].out:
            port += 1
        entry = self.below[port].out.popleft()
        if isinstance(entry, Clock):
            self.clocks[port] = max(self.clocks[port], entry.instant)
            self.tell(min(self.clocks))
        else:
            self.under_way = self.results(port, entry, work)

    def results(self, port: int, rows: ChangeBatch, work: MicroBatch) -> Iterator[ChangeBatch]:  # noqa: ARG002
        """Begins to compute what rows on a port give."""
        return self.apply(rows)

    def apply(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        """What rows become."""
        yield rows

    def get_time(self, watermark: int) -> int:
        """What those below answer; the clocks that came, while rows are on their way."""
        if self.has_work:
            return min(self.clocks)
        return min(driver.get_time(watermark) for driver in self.below)

    def late_numbers(
        self, stream: str, arrived: pa.RecordBatch, watermark: int
    ) -> Iterator[ChangeBatch]:
        """What late rows become, of all below."""
        for driver in self.below:
            for rows in driver.late_numbers(stream, arrived, watermark):
                yield from self.apply(rows)


class RowDriver(BatchDriver):
    """A filter, a projection, or a window that sets ends."""

    node: RowByRow

    def __init__(self, node: RowByRow, setting: Setting | None = None) -> None:
        super().__init__(node)
        self._evaluator = (setting or Setting()).evaluator

    def apply(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        """The rows after the node."""
        yield self._evaluator.apply(self.node, rows)


class TableJoinDriver(BatchDriver):
    """A join with a table, which is read when the first rows come, and again where it is another."""

    node: TableJoinRows

    def __init__(self, node: TableJoinRows, setting: Setting | None = None) -> None:
        super().__init__(node)
        self._setting = setting or Setting()
        self._made: TableJoiner | None = None
        self._versions: list[int] = []

    @property
    def fed_by(self) -> Sequence[PhysicalNode]:
        """The rows; the table comes otherwise."""
        return (self.node.input,)

    def _joiner(self) -> TableJoiner:
        from windrow.operators.joins.table_join import TableJoiner  # noqa: PLC0415

        versions = [self._setting.table_version(scan) for scan in self.node.table.tables]
        if self._made is None or versions != self._versions:
            table = self._table_rows(self.node.table)
            self._made = TableJoiner(self.node, table, self._setting.evaluator)
            self._versions = versions
        return self._made

    def _table_rows(self, node: PhysicalNode) -> ChangeBatch:
        """The rows of a table after the filters and projections on it: they may have no columns."""
        if not node.inputs:
            return self._setting.read_table(cast("ScanTable", node))
        rows = self._table_rows(node.inputs[0])
        return self._setting.evaluator.apply(cast("RowByRow", node), rows)

    def apply(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        """The rows with those of the table."""
        return self._joiner().join(rows)


class UnionDriver(BatchDriver):
    """UNION ALL: the rows of all drivers below, as they come.

    Where a stream stands beside what has state, the operator above cannot tell whose rows are whose:
    its late rule is minded here, for those of the stream.
    """

    def feed(self, below: Sequence[Driver], in_time: InTime | None = None) -> None:
        """Has it fed by drivers, and the late rule minded of some."""
        super().feed(below)
        has_state = [driver.node.has_state for driver in below]
        self._rules = [in_time if any(has_state) and not own else None for own in has_state]

    def results(self, port: int, rows: ChangeBatch, work: MicroBatch) -> Iterator[ChangeBatch]:
        """The rows, less those that are late."""
        in_time = self._rules[port]
        yield rows if in_time is None else in_time(rows, work.before)
