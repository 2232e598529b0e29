"""A running query goes on by another plan once the rates of its streams have changed.

Between two micro-batches the state of a join is its rows and the time up to which they have been
joined, the same for every algorithm, structure and order. So a stage takes the state of its
operator, builds another one, and gives it the state: no result is lost, and none comes twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

from windrow.physical.explain import stage_name
from windrow.physical.specs import PhysicalQuery, Spec, WJoin, inputs, scans
from windrow.plan.statistics import Measured
from windrow.run.local.observed import Observed
from windrow.run.local.pipeline import Pipeline
from windrow.run.plan_changes import plan_name


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
        self._has_joins = _has_joins(query.root)
        times = {scan.stream: scan.time for scan in scans(query.root)}
        self._observed = Observed(times, planner.rates if planner is not None else {})

    def adapt(self, stream: str, arrived: pa.RecordBatch, pipeline: Pipeline) -> None:
        """After a micro-batch: plans again if rates have changed, and follows the new plan."""
        if self._planner is None or not self._has_joins:
            return
        self._observed.take(stream, arrived)
        if self._observed.has_changed:
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
            stage_name(stage.spec): plan_name(stage.spec)
            for stage in reversed(pipeline.stages)
            if isinstance(stage.spec, WJoin)
        }


def _has_joins(spec: Spec) -> bool:
    return isinstance(spec, WJoin) or any(map(_has_joins, inputs(spec)))
