"""From the specs of a query to the operators that a scheduler runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from windrow.operators.driver import Stage
from windrow.operators.evaluate import Evaluator
from windrow.operators.memory import Memory
from windrow.operators.table_join import TableJoiner
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.filter_rows import FilterRows
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.range_rows import RangeRows
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.physical.nodes.table_join_rows import TableJoinRows
from windrow.physical.nodes.union_rows import UnionRows
from windrow.physical.query import PhysicalQuery
from windrow.run.local.scheduling.nodes import (
    LateRule,
    Node,
    RowByRowNode,
    ScanNode,
    TableJoinNode,
    UnionNode,
)
from windrow.run.local.scheduling.stages import StageNode
from windrow.run.local.sources import Source
from windrow.run.local.tables import table_rows


@dataclass
class Connector:
    """Makes the operators of a query.

    Attributes:
        query: the query.
        sources: the tables that it reads, among others.
        evaluator: computes expressions.
        memory: bounds what stages hold together; None: nothing does.
        stages: those made so far, from the top of the plan down.
    """

    query: PhysicalQuery
    sources: Mapping[str, Source]
    evaluator: Evaluator
    memory: Memory | None
    stages: list[Stage] = field(default_factory=list)

    def node(self, spec: PhysicalNode, in_time: LateRule | None = None) -> Node:
        """The operator of a spec, with those below; `in_time` is the late rule of the stage above."""
        if spec.is_stateful:
            return self._stage_node(spec)
        if isinstance(spec, ScanStream):
            return ScanNode(spec)
        if isinstance(spec, UnionRows):
            return self._union_node(spec, in_time)
        below = self.node(spec.inputs[0], in_time)
        if isinstance(spec, TableJoinRows):
            return TableJoinNode(spec, below, partial(self._joiner, spec))
        assert isinstance(spec, FilterRows | ProjectRows | RangeRows)
        return RowByRowNode(spec, below, self.evaluator)

    def _stage_node(self, spec: PhysicalNode) -> StageNode:
        # Late rows are kept as they arrived, by the runner; the stage drops and counts them.
        on_late = "fail" if self.query.options.on_late == "fail" else "count"
        stage = Stage(spec, on_late=on_late, memory=self.memory)
        self.stages.append(stage)
        below = [
            self.node(child, partial(stage.in_time, port)) for port, child in enumerate(spec.inputs)
        ]
        return StageNode(stage, below)

    def _union_node(self, spec: UnionRows, in_time: LateRule | None) -> UnionNode:
        below = [self.node(child, in_time) for child in spec.inputs]
        of_streams = [node.is_of_streams for node in below]
        # A stream beside what has a stage: the stage above cannot tell their rows apart.
        rules = [in_time if own and not all(of_streams) else None for own in of_streams]
        return UnionNode(spec, below, rules)

    def _joiner(self, spec: TableJoinRows) -> TableJoiner:
        table = table_rows(spec.table, self.sources, self.evaluator)
        return TableJoiner(spec, table, self.evaluator)
