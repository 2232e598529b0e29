"""Whose turn it is: which operator of a query in process works next, and until when.

1. Of the operators with entries on their queues, the one nearest to the answer works, one step.
   So what one gives is used before it gives more, and queues stay short.
2. If there is none, all rows are where they can get to. Then the stages have their turns, from the
   streams up (`stages.py`); what one gives climbs first, by 1.

The schedulings differ in what a stage does in its turn:

             advanced                              to the clock that
    ita      by input                              came with the input
    tpa      by input, and by time                 it probes for
    nta      by input; those below that make       it probes for
             negative tuples also by time

    input       5           .           .           8            rows that reach the stage
    watermark   5           6           7           8
    ita         |           .           .           | 6 and 7 come out late
    tpa         |           | 6         | 7         |

By negative tuples all that is to come or to go is input: what takes rows back need not be woken.

At the end of all streams each advances everything, so that the answer is the same as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.operators.arrow_types import arrow_schema
from windrow.operators.changes import ChangeBatch
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.sliding_skyline import SlidingSkyline
from windrow.physical.options import ITA, NTA, TPA
from windrow.run.local.scheduling.nodes import Node, ScanNode
from windrow.run.local.scheduling.queues import Round
from windrow.run.local.scheduling.stages import StageNode
from windrow.schema import MAX_TICK


@dataclass(frozen=True)
class Scheduling:
    """What stages do in their turns.

    Attributes:
        probes: whether they ask the operators below for their clocks.
        wakes: whether time alone is a reason to advance those that take rows back.
        wakes_others: whether it is one to advance the others.
    """

    probes: bool
    wakes: bool
    wakes_others: bool

    def is_woken(self, spec: PhysicalNode) -> bool:
        """Whether time alone is a reason to advance a stage."""
        is_exact = isinstance(spec, SetOp | SlidingSkyline) or (
            isinstance(spec, SlidingAggregate) and not spec.estimated_from
        )
        return self.wakes if is_exact else self.wakes_others


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
    """Runs the operators of one query.

    Args:
        root: the one that gives the answer.
        scheduling: what stages do in their turns.
        pauses: whether to stop after a step, for now.

    Attributes:
        nodes: all operators, each before those below it.
    """

    def __init__(
        self, root: Node, scheduling: Scheduling, pauses: Callable[[], bool] = never
    ) -> None:
        self.nodes = [root]
        self._above = [0]
        for place, node in enumerate(self.nodes):
            self.nodes += node.below
            self._above += [place] * len(node.below)
        self._scheduling = scheduling
        self._answer = root.out
        self._pauses = pauses
        self._pause = ChangeBatch(
            pa.RecordBatch.from_pylist([], arrow_schema(root.spec.schema)), np.zeros(0, np.int64)
        )
        self._scans = [node for node in self.nodes if isinstance(node, ScanNode)]
        self._stages = [node for node in reversed(self.nodes) if isinstance(node, StageNode)]

    def due(self) -> int:
        """The least watermark at which time alone is a reason to advance a stage; MAX_TICK for none."""
        woken = (node.stage for node in self._stages if self._scheduling.is_woken(node.spec))
        return min((stage.due() for stage in woken), default=MAX_TICK)

    def run(self, work: Round) -> Iterator[ChangeBatch]:
        """The rows of the answer that one micro-batch brings, as they come out.

        Between two steps at which it pauses, a batch without rows.
        """
        for scan in self._scans:
            scan.take(work)
        yield from self._run_queues(work)
        way = AT_THE_END if work.after == MAX_TICK else self._scheduling
        for stage in self._stages:
            stage.begin_turn(work, probes=way.probes, is_woken=way.is_woken(stage.spec))
            yield from self._run_queues(work)

    def _run_queues(self, work: Round) -> Iterator[ChangeBatch]:
        """Runs operators until none has anything to do.

        No operator before `place` has anything to do; a step can only give work to the one above.
        """
        place = 0
        while place < len(self.nodes):
            node = self.nodes[place]
            if not node.has_work:
                place += 1
                continue
            node.step(work)
            if node.out:
                place = self._above[place]
            while self._answer:
                entry = self._answer.popleft()
                if isinstance(entry, ChangeBatch):
                    yield entry
            if self._pauses():
                yield self._pause
