"""Stateful operators and their local clocks.

A stage is advanced to a clock, in each micro-batch once all rows that there are have reached it. To
which one, and whether at all, is the scheduling's choice:

    clock    received   the least over its inputs of the clocks that came with rows
             probed     the least over its inputs of what the nodes below answer, asked now

    when     by input   rows or a clock have come since it was last advanced
             by time    also if a row that it holds would come or go by that clock

The probe path from a stage down: a node without state asks those below it, unless rows are on their
way through it, and the path ends at another stage, which answers with its local clock, or at a
scan, which answers with the query's watermark:

    MAX --get_time()--> filter --get_time()--> JOIN      "7": rows from 7 on may be held there
                                                 |
                                     scan a ----- ------ scan b

So no row expires while an older one is on the way, or held below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from windrow.operators.changes import ChangeBatch
from windrow.operators.driver import Stage
from windrow.run.local.scheduling.nodes import FedNode, Node
from windrow.run.local.scheduling.queues import Round
from windrow.schema import MIN_TICK


class StageNode(FedNode):
    """A stage, and its local clock: the instant that it has come to."""

    def __init__(self, stage: Stage, below: Sequence[Node]) -> None:
        super().__init__(stage.spec, below)
        self.stage = stage
        self.clock = MIN_TICK
        self._has_input = False

    @property
    def is_of_streams(self) -> bool:
        """No: it is a stage itself."""
        return False

    def get_time(self, watermark: int) -> int:  # noqa: ARG002
        """Its local clock, wherever the query's watermark is."""
        return self.clock

    def resume(self, clocks: Sequence[int], watermark: int) -> None:
        """Goes on with the clocks of an earlier run, which had come to that watermark."""
        super().resume(clocks, watermark)
        self.clock = min(watermark, *clocks)

    def begin_turn(self, work: Round, *, probes: bool, is_woken: bool) -> None:
        """Begins to end a micro-batch for this stage.

        Args:
            work: the micro-batch.
            probes: whether it asks the nodes below for their clocks.
            is_woken: whether time alone is a reason to advance it.
        """
        if probes:
            self._probe(work.after)
        clock = max(self.clock, min(work.after, *self.clocks))
        is_due = self._has_input or self.stage.due() <= clock
        advances = self._has_input or (is_woken and is_due)
        self._has_input = False
        if advances or not is_due:
            self.clock = clock
        self._under_way = self._turn(advances=advances)

    def _probe(self, watermark: int) -> None:
        """Asks the nodes below for their clocks; what waits on a queue may be below them."""
        for port, node in enumerate(self.below):
            if not node.out:
                self.clocks[port] = max(self.clocks[port], node.get_time(watermark))

    def _turn(self, *, advances: bool) -> Iterator[ChangeBatch]:
        if advances:
            yield from self.stage.advance(self.clock)
        yield from self.stage.settle()
        self._tell(self.clock)

    def _results(self, port: int, rows: ChangeBatch, work: Round) -> Iterator[ChangeBatch]:
        self._has_input = True
        ports: list[ChangeBatch | None] = [None] * len(self.below)
        ports[port] = rows
        return self.stage.push(ports, work.before)

    def _heard(self) -> None:
        self._has_input = True
