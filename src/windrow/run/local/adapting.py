"""A running query goes on by another plan once the rates of its streams have changed.

Between two micro-batches the state of a join is its rows and the time up to which they have been
joined, the same for every algorithm, structure and order. So a stage takes the state of its
operator, builds another one, and gives it the state: no result is lost, and none comes twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

from windrow.physical.explain.plan_names import plan_name
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.query import PhysicalQuery
from windrow.plan.statistics import Measured
from windrow.run.local.observed import Observed
from windrow.run.local.pipeline import Pipeline


class Planner(Protocol):
    """Plans the query at hand anew."""

    @property
    def rates(self) -> Mapping[str, float]:
        """The rates by stream that it was planned for at first, as far as they were known."""
        ...

    def again(self, measured: Measured) -> PhysicalQuery:
        """The query as planned by these numbers; its stages are those of before."""
        ...

    def explain(self, query: PhysicalQuery) -> str:
        """EXPLAIN of the query as it runs."""
        ...


class Adapting:
    """Watches the streams of a query, and changes the plans of its joins.

    Args:
        query: as it was planned first.
        planner: plans it again; None where plans stay.
    """

    def __init__(self, query: PhysicalQuery, planner: Planner | None) -> None:
        self.query = query
        self.changes = 0
        self._planner = planner
        joins = _joins(query.root)
        self._has_joins = bool(joins)
        self._is_guessed = any(join.estimate and join.estimate.is_guessed for join in joins)
        times = {scan.stream: scan.time for scan in query.root.scans}
        self._observed = Observed(times, planner.rates if planner is not None else {})

    def adapt(self, stream: str, arrived: pa.RecordBatch, pipeline: Pipeline) -> None:
        """Before a micro-batch: plans again if rates have changed, and follows the new plan.

        Where the plan rests on assumed numbers it is made again, once, by those of the batches.
        """
        if self._planner is None or not self._has_joins:
            return
        self._observed.take(stream, arrived)
        if self._observed.has_changed or (self._is_guessed and self._observed.is_known):
            self._is_guessed = False
            self._observed.planned()
            self.query = self._planner.again(self._observed)
            self.changes += pipeline.follow(self.query)

    def explain(self) -> str:
        """EXPLAIN of the query as it runs now."""
        return "" if self._planner is None else self._planner.explain(self.query)

    @staticmethod
    def plans(pipeline: Pipeline) -> dict[str, str]:
        """How each window join is run now, by its name in EXPLAIN."""
        return {
            stage.spec.title: plan_name(stage.spec)
            for stage in reversed(pipeline.stages)
            if isinstance(stage.spec, MultiJoin)
        }


def _joins(spec: PhysicalNode) -> list[MultiJoin]:
    below = [join for child in spec.inputs for join in _joins(child)]
    return [spec, *below] if isinstance(spec, MultiJoin) else below
