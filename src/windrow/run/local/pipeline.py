"""A physical query as operators that rows climb through, from the streams to the answer.

Stateless specs are evaluated batch by batch; stateful ones are stages. They are connected by queues
and scheduled (`scheduling/`): rows are handed on as they come out, so that an operator never holds
all results of the one below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.operators.changes import ChangeBatch
from windrow.operators.driver import Stage
from windrow.operators.evaluate import Evaluator
from windrow.operators.last_step import LastStep
from windrow.operators.memory import memory_of
from windrow.operators.scan import scan
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.physical.nodes.union_rows import UnionRows
from windrow.physical.query import PhysicalQuery
from windrow.run.local.scheduling.connect import Connector
from windrow.run.local.scheduling.nodes import Node, StatelessNode
from windrow.run.local.scheduling.queues import Round
from windrow.run.local.scheduling.scheduler import SCHEDULINGS, Scheduler, never
from windrow.run.local.scheduling.stages import StageNode
from windrow.run.local.sources import Source
from windrow.schema import MIN_TICK


@dataclass
class Pipeline:
    """The operators of a query, the stages among them from the top down; `sources` has its tables.

    After a step at which it `pauses`, `run` gives a batch without rows.
    """

    query: PhysicalQuery
    sources: Mapping[str, Source] = field(default_factory=dict)
    evaluator: Evaluator = field(default_factory=Evaluator)
    pauses: Callable[[], bool] = never

    def __post_init__(self) -> None:
        self._memory = memory_of(self.query.options)
        connector = Connector(self.query, self.sources, self.evaluator, self._memory)
        self.root = connector.node(self.query.root)
        self.stages: list[Stage] = connector.stages
        self._scheduler = Scheduler(self.root, SCHEDULINGS[self.query.schedule.name], self.pauses)

    def run(self, work: Round) -> Iterator[ChangeBatch]:
        """The rows of the answer that one micro-batch brings."""
        # All changes of an instant come in one micro-batch, that in which it is final.
        yield from LastStep.of(self.query)(self._scheduler.run(work))

    def due(self) -> int:
        """The least watermark at which time alone would bring or drop rows; MAX_TICK for none."""
        return self._scheduler.due()

    def late_rows(self, stream: str, arrived: pa.RecordBatch, watermark: int) -> pa.RecordBatch:
        """The rows of a batch that stages will find late, as they arrived, each once.

        Rows that a WHERE removes before they reach a stage are not among them. Row numbers take the
        place of times on the way through the stateless specs, which hand times on untouched.
        """
        found: set[int] = set()
        for chain in _entries(self.root, stream):
            for rows in _climb_to_stage(chain, arrived, watermark):
                found.update(rows.times.tolist())
        return arrived.take(pa.array(sorted(found), pa.int64()))

    def follow(self, query: PhysicalQuery) -> int:
        """Goes on by other plans of the same steps, between two micro-batches; gives how many changed."""
        changed = _followed(self.root, query.root)
        self.query = query
        return changed

    @property
    def clocks(self) -> tuple[tuple[int, ...], ...]:
        """The clocks of each operator, between two micro-batches."""
        return tuple(tuple(node.clocks) for node in self._scheduler.nodes)

    def resume(self, clocks: Sequence[Sequence[int]] | None, watermark: int) -> None:
        """Goes on with the clocks of an earlier run, which had come to that watermark."""
        nodes = self._scheduler.nodes
        known = clocks or [[watermark] * len(node.clocks) for node in nodes]
        for node, own in zip(nodes, known, strict=True):
            node.resume(own, watermark)

    def close(self) -> None:
        """Lets go of the expression engine."""
        self.evaluator.close()


def _followed(node: Node, spec: PhysicalNode) -> int:
    """Has a node and those below it run as specs of the same shape say."""
    node.spec = spec
    changed = sum(map(_followed, node.below, spec.inputs))
    if not (isinstance(node, StageNode) and isinstance(spec, MultiJoin)):
        return changed
    if spec.runs_like(node.stage.spec):
        return changed
    node.stage.become(spec)
    return changed + 1


def _entries(node: Node, stream: str) -> Iterator[list[Node]]:
    """Per scan of the stream that a stage reads, the nodes on the way, the scan first."""
    for below in node.below:
        if isinstance(node, StageNode):
            for chain in _chains(below):
                scanned = chain[0].spec
                if isinstance(scanned, ScanStream) and scanned.stream == stream:
                    yield chain
        yield from _entries(below, stream)


def _chains(node: Node) -> list[list[Node]]:
    """Per scan below this node, the nodes that change its rows on their way up to it.

    A scan is left out where there is a stage on its way.
    """
    if isinstance(node, StageNode):
        return []
    own = [] if isinstance(node.spec, UnionRows) else [node]
    if not node.below:
        return [own]
    return [[*chain, *own] for below in node.below for chain in _chains(below)]


def _climb_to_stage(
    chain: list[Node], arrived: pa.RecordBatch, watermark: int
) -> Iterator[ChangeBatch]:
    scanned, *way = chain
    assert isinstance(scanned.spec, ScanStream)
    rows = scan(scanned.spec, arrived)
    numbers = np.flatnonzero(rows.times < max(watermark, MIN_TICK + 1))
    late: Iterator[ChangeBatch] = iter(())
    if len(numbers):
        late = iter([ChangeBatch(rows.take(numbers).columns, numbers)])
    for node in way:
        assert isinstance(node, StatelessNode)
        late = _each(node, late)
    yield from late


def _each(node: StatelessNode, batches: Iterator[ChangeBatch]) -> Iterator[ChangeBatch]:
    for batch in batches:
        yield from node.apply(batch)
