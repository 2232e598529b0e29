"""Whose turn it is: which driver of a query, or of a stage on Spark, works next, and until when.

1. Of the drivers with entries on their queues, the one nearest to the answer works, one step.
   So what one gives is used before it gives more, and queues stay short.
2. If there is none, all rows are where they can get to. Then the operators have their turns, from
   the streams up (`OperatorDriver`); what one gives climbs, by rule 1, before the next has its turn.

The schedulings differ in what an operator does in its turn:

             advanced                              to the clock that
    ita      by input                              came with the input
    tpa      by input, and by time                 it probes for
    nta      by input; those below that make       it probes for
             negative tuples also by time

    input       5           .           .           8            rows that reach the operator
    watermark   5           6           7           8
    ita         |           .           .           | 6 and 7 come out late
    tpa         |           | 6         | 7         |

By negative tuples all that is to come or to go is input: what takes rows back need not be woken.

At the end of all streams each advances everything, so that the answer is the same as a whole. A worker
on Spark is handed rows and watermarks micro-batch by micro-batch, and goes by tpa.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.columns.changes import ChangeBatch, no_rows
from windrow.operators.engine.driver import Driver, InTime, MicroBatch, OperatorDriver, Setting
from windrow.operators.engine.row_drivers import LeafDriver, PortDriver
from windrow.physical.options import ITA, NTA, TPA
from windrow.physical.partitioning.shared_stages import below
from windrow.registry import load
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from windrow.operators.engine.memory import Memory
    from windrow.physical.nodes.base import PhysicalNode


@dataclass(frozen=True)
class Scheduling:
    """What operators do in their turns.

    Attributes:
        probes: whether they ask the drivers below for their clocks.
        wakes: whether time alone is a reason to advance those that take rows back.
        wakes_others: whether it is one to advance the others.
    """

    probes: bool
    wakes: bool
    wakes_others: bool

    def is_woken(self, node: PhysicalNode) -> bool:
        """Whether time alone is a reason to advance an operator."""
        return self.wakes if node.hears_of_expiry else self.wakes_others


SCHEDULINGS = {
    ITA: Scheduling(probes=False, wakes=False, wakes_others=False),
    TPA: Scheduling(probes=True, wakes=True, wakes_others=True),
    NTA: Scheduling(probes=True, wakes=False, wakes_others=True),
}

AT_THE_END = SCHEDULINGS[TPA]
"""Whatever the scheduling: no input is to come that anybody could wait for."""


def never() -> bool:
    """No."""
    return False


class Scheduler:
    """Runs the drivers of a query, or of one stage of it in a worker.

    Args:
        root: the driver that gives the answer.
        scheduling: what operators do in their turns.
        pauses: whether to stop after a step, for now.
        memory: what is looked at when all operators have had their turns.

    Attributes:
        root: the driver that gives the answer.
        drivers: all of them, each before those below it.
        operators: the drivers of operators, from the top of the plan down, from left to right.
    """

    def __init__(
        self,
        root: Driver,
        scheduling: Scheduling = AT_THE_END,
        pauses: Callable[[], bool] = never,
        memory: Memory | None = None,
    ) -> None:
        self.root = root
        self.drivers = [root]
        self._above = [0]
        for place, driver in enumerate(self.drivers):
            self.drivers += driver.below
            self._above += [place] * len(driver.below)
        self.operators = list(_operators(root))
        self._scheduling = scheduling
        self._answer = root.out
        self._pauses = pauses
        self._memory = memory
        self._pause = no_rows(arrow_schema(root.node.schema))
        self._leaves = [own for own in self.drivers if isinstance(own, LeafDriver)]
        self._turns = [own for own in reversed(self.drivers) if isinstance(own, OperatorDriver)]

    def due(self) -> int:
        """The least watermark at which time alone is a reason to advance an operator; MAX_TICK for none."""
        woken = (own for own in self._turns if self._scheduling.is_woken(own.node))
        return min((own.due() for own in woken), default=MAX_TICK)

    def run(self, work: MicroBatch, ahead: int | None = None) -> Iterator[ChangeBatch]:
        """The rows of the answer that one micro-batch brings, as they come out.

        Between two steps at which it pauses, a batch without rows.

        `ahead` is a watermark beyond the one after it, that the lowest operator may go on to.
        """
        for leaf in self._leaves:
            leaf.take(work)
        yield from self._run_queues(work)
        way = AT_THE_END if work.after == MAX_TICK else self._scheduling
        reached = work.after if ahead is None else max(work.after, ahead)
        for operator in self._turns:
            is_woken = way.is_woken(operator.node)
            operator.begin_turn(reached, probes=way.probes, is_woken=is_woken)
            reached = work.after
            yield from self._run_queues(work)
        if self._memory is not None:
            self._memory.settle()

    def _run_queues(self, work: MicroBatch) -> Iterator[ChangeBatch]:
        """Has drivers work until none has anything to do.

        No driver before `place` has anything to do; a step can only give work to the one above.
        """
        place, drivers, count = 0, self.drivers, len(self.drivers)
        while place < count:
            driver = drivers[place]
            if not driver.has_work:
                place += 1
                continue
            if driver.under_way is None:
                driver.begin(work)
            if driver.under_way is not None:
                rows = next(driver.under_way, None)
                if rows is None:
                    driver.under_way = None
                else:
                    driver.give(rows)
            if driver.out:
                place = self._above[place]
            while self._answer:
                entry = self._answer.popleft()
                if isinstance(entry, ChangeBatch):
                    yield entry
            if self._pauses():
                yield self._pause

    def late_among(self, stream: str, arrived: pa.RecordBatch, watermark: int) -> pa.RecordBatch:
        """The rows of a batch that operators will find late, as they arrived, each once.

        Rows that a WHERE removes before they reach an operator are not among them.
        """
        found: set[int] = set()
        for operator in self.operators:
            for driver in operator.below:
                for rows in driver.late_numbers(stream, arrived, watermark):
                    found.update(rows.times.tolist())
        return arrived.take(pa.array(sorted(found), pa.int64()))

    @property
    def clocks(self) -> tuple[tuple[int, ...], ...]:
        """The clocks of each driver, between two micro-batches."""
        return tuple(tuple(driver.clocks) for driver in self.drivers)

    def resume(self, clocks: Sequence[Sequence[int]] | None, watermark: int) -> None:
        """Goes on with the clocks of an earlier run, which had come to that watermark."""
        known = clocks or [[watermark] * len(driver.clocks) for driver in self.drivers]
        for driver, own in zip(self.drivers, known, strict=True):
            driver.resume(own, watermark)


def _operators(driver: Driver) -> Iterator[OperatorDriver]:
    if isinstance(driver, OperatorDriver):
        yield driver
    for own in driver.below:
        yield from _operators(own)


def driver_of(node: PhysicalNode, setting: Setting, in_time: InTime | None = None) -> Driver:
    """The driver of a node, fed by those of the nodes below; `in_time` is the late rule above."""
    driver: Driver = load(node.driver)(node, setting)
    driver.feed(
        [
            driver_of(child, setting, driver.rule_below(port, in_time))
            for port, child in enumerate(driver.fed_by)
        ],
        in_time,
    )
    return driver


def stage_scheduler(nodes: Sequence[PhysicalNode], setting: Setting) -> Scheduler:
    """What runs one stage of a query in a worker: what one operator gives goes straight into the next.

    Args:
        nodes: the stateful nodes of the stage (`physical/partitioning/shared_stages.py`), from the bottom up.
        setting: what drivers are given; `own` is what the lowest answers for.
    """
    lowest, *above = nodes
    driver: Driver = OperatorDriver(lowest, setting)
    driver.feed([PortDriver(child, port) for port, child in enumerate(lowest.inputs)])
    # Memory is looked at when the lowest has had its turn, and not while it is having it.
    others = replace(setting, memory=None, own=None)
    for node in above:
        found = below(node)
        assert found is not None, "nothing below it that it could share a stage with"
        operator = OperatorDriver(node, others)
        if setting.memory is not None:
            setting.memory.watch(node.title, operator.operator)
        for own in (*(load(each.driver)(each, others) for each in found[1]), operator):
            own.feed([driver])
            driver = own
    return Scheduler(driver, memory=setting.memory if above else None)
