"""A physical query as a tree that rows climb, from the streams to the answer.

Stateless specs are evaluated batch by batch; stateful ones are stages. Rows are handed on as they
come out, so that a step never holds all results of the one below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from windrow.operators.changes import ChangeBatch
from windrow.operators.driver import Stage
from windrow.operators.evaluate import Evaluator
from windrow.operators.last_step import LastStep
from windrow.operators.memory import memory_of
from windrow.operators.scan import scan
from windrow.operators.table_join import TableJoiner
from windrow.physical.specs import (
    PhysicalQuery,
    ScanStream,
    ScanTable,
    Spec,
    Stateful,
    TableJoinRows,
    UnionRows,
    WJoin,
    inputs,
)
from windrow.run.local.sources import Source
from windrow.run.local.tables import table_rows
from windrow.schema import MIN_TICK

LateRule: TypeAlias = Callable[[ChangeBatch], ChangeBatch]
"""What of the rows of a stream is not late; the rest is dealt with."""


@dataclass(frozen=True)
class Round:
    """One micro-batch: what arrived, between two watermarks of the query."""

    arrived: Mapping[str, pa.RecordBatch]
    before: int
    after: int


@dataclass
class Step:
    """A spec with the steps below it, and its stage where it has state.

    `joiner` is what joins rows with a table, made when the first rows come.
    """

    spec: Spec
    below: list[Step]
    stage: Stage | None = None
    joiner: TableJoiner | None = None

    @property
    def is_of_streams(self) -> bool:
        """Whether its rows come from streams, or tables, without a stage on their way."""
        return self.stage is None and all(below.is_of_streams for below in self.below)


@dataclass
class Pipeline:
    """The steps of a query, the stages among them from the top down; `sources` has its tables."""

    query: PhysicalQuery
    sources: Mapping[str, Source] = field(default_factory=dict)
    evaluator: Evaluator = field(default_factory=Evaluator)
    stages: list[Stage] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._memory = memory_of(self.query.options)
        self.root = self._step(self.query.root)

    def run(self, work: Round) -> Iterator[ChangeBatch]:
        """The rows of the answer that one micro-batch brings."""
        # All changes of an instant come in one micro-batch, that in which it is final.
        yield from LastStep.of(self.query)(self._rows(self.root, work))

    def late_rows(self, stream: str, arrived: pa.RecordBatch, watermark: int) -> pa.RecordBatch:
        """The rows of a batch that stages will find late, as they arrived, each once.

        Rows that a WHERE removes before they reach a stage are not among them. Row numbers take the
        place of times on the way through the stateless specs, which hand times on untouched.
        """
        found: set[int] = set()
        for step in self._entries(self.root, stream):
            for rows in self._climb_to_stage(step, arrived, watermark):
                found.update(rows.times.tolist())
        return arrived.take(pa.array(sorted(found), pa.int64()))

    def follow(self, query: PhysicalQuery) -> int:
        """Goes on by other plans of the same steps, between two micro-batches; gives how many changed."""
        changed = _followed(self.root, query.root)
        self.query = query
        return changed

    def close(self) -> None:
        """Lets go of the expression engine."""
        self.evaluator.close()

    def _step(self, spec: Spec) -> Step:
        stage = None
        if isinstance(spec, Stateful):
            # Late rows are kept as they arrived, by the runner; the stage drops and counts them.
            on_late = self.query.options.on_late
            stage = Stage(
                spec, on_late="fail" if on_late == "fail" else "count", memory=self._memory
            )
            self.stages.append(stage)
        return Step(spec, [self._step(child) for child in inputs(spec)], stage)

    def _rows(
        self, step: Step, work: Round, in_time: LateRule | None = None
    ) -> Iterator[ChangeBatch]:
        """The rows of a step; `in_time` is the late rule of the stage that they are for."""
        if step.stage is not None:
            yield from self._through_stage(step, step.stage, work)
            return
        if isinstance(step.spec, ScanStream):
            arrived = work.arrived.get(step.spec.stream)
            if arrived is not None and arrived.num_rows:
                yield scan(step.spec, arrived)
            return
        if isinstance(step.spec, UnionRows):
            for below in step.below:
                rows = self._rows(below, work, in_time)
                # A stream beside what has a stage: the stage above cannot tell their rows apart.
                is_beside = below.is_of_streams and not step.is_of_streams
                yield from map(in_time, rows) if in_time is not None and is_beside else rows
            return
        for result in self._each(step, self._rows(step.below[0], work, in_time)):
            if len(result):
                yield result

    def _through_stage(self, step: Step, stage: Stage, work: Round) -> Iterator[ChangeBatch]:
        for port, below in enumerate(step.below):
            in_time = partial(stage.in_time, port, watermark=work.before)
            for batch in self._rows(below, work, in_time):
                ports: list[ChangeBatch | None] = [None] * len(step.below)
                ports[port] = batch
                yield from stage.push(ports, work.before)
        yield from stage.advance(work.after)

    def _apply(self, step: Step, batch: ChangeBatch) -> Iterator[ChangeBatch]:
        spec = step.spec
        assert not isinstance(spec, ScanStream | ScanTable | UnionRows | Stateful)
        if not isinstance(spec, TableJoinRows):
            yield self.evaluator.apply(spec, batch)
            return
        if step.joiner is None:
            table = table_rows(spec.table, self.sources, self.evaluator)
            step.joiner = TableJoiner(spec, table, self.evaluator)
        yield from step.joiner.join(batch)

    def _entries(self, step: Step, stream: str) -> Iterator[list[Step]]:
        """Per scan of the stream that a stage reads, the steps on the way, the scan first."""
        for below in step.below:
            if step.stage is not None:
                for chain in _chains(below):
                    scanned = chain[0].spec
                    if isinstance(scanned, ScanStream) and scanned.stream == stream:
                        yield chain
            yield from self._entries(below, stream)

    def _climb_to_stage(
        self, chain: list[Step], arrived: pa.RecordBatch, watermark: int
    ) -> Iterator[ChangeBatch]:
        scanned, *way = chain
        assert isinstance(scanned.spec, ScanStream)
        rows = scan(scanned.spec, arrived)
        numbers = np.flatnonzero(rows.times < max(watermark, MIN_TICK + 1))
        if not len(numbers):
            return
        late: Iterator[ChangeBatch] = iter([ChangeBatch(rows.take(numbers).columns, numbers)])
        for step in way:
            late = self._each(step, late)
        yield from late

    def _each(self, step: Step, batches: Iterator[ChangeBatch]) -> Iterator[ChangeBatch]:
        for batch in batches:
            yield from self._apply(step, batch)


def _followed(step: Step, spec: Spec) -> int:
    """Has a step and those below it run as specs of the same shape say."""
    changed = 0
    if step.stage is not None and isinstance(spec, WJoin) and not spec.runs_like(step.stage.spec):
        step.stage.become(spec)
        changed = 1
    step.spec = spec
    return changed + sum(map(_followed, step.below, inputs(spec)))


def _chains(step: Step) -> list[list[Step]]:
    """Per scan below this step, the steps that change its rows on their way up to it.

    A scan is left out where there is a stage on its way.
    """
    if step.stage is not None:
        return []
    own = [] if isinstance(step.spec, UnionRows) else [step]
    if not step.below:
        return [own]
    return [[*chain, *own] for below in step.below for chain in _chains(below)]
