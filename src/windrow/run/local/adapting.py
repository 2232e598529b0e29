"""A running query goes on by another plan once the rates of its streams have changed.

Between two micro-batches the state of a join is its rows and the time up to which they have been
joined, the same for every algorithm, structure and order. So a driver takes the state of its
operator, builds another one, and gives it the state: no result is lost, and none comes twice.
"""

from __future__ import annotations

import pyarrow as pa

from windrow.operators.engine.scheduler import Scheduler
from windrow.physical.query import PhysicalQuery
from windrow.run.local.stream_statistics import StreamStatistics
from windrow.run.planner import Planner


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
        estimates = [node.estimate for node in query.root.walk() if node.plan_name]
        self._has_plans = bool(estimates)
        self._is_guessed = any(own.is_guessed for own in estimates if own is not None)
        times = {scan.stream: scan.time for scan in query.root.scans}
        self._known = StreamStatistics(times, planner.rates if planner is not None else {})

    def adapt(self, stream: str, arrived: pa.RecordBatch, scheduler: Scheduler) -> None:
        """Before a micro-batch: plans again if rates have changed, and follows the new plan.

        Where the plan rests on assumed numbers it is made again, once, by those of the batches.
        """
        if self._planner is None or not self._has_plans:
            return
        self._known.take(stream, arrived)
        if self._known.has_changed or (self._is_guessed and self._known.is_known):
            self._is_guessed = False
            self._known.planned()
            self.query = self._planner.again(self._known)
            self.changes += scheduler.root.follow(self.query.root)

    def explain(self) -> str:
        """EXPLAIN of the query as it runs now."""
        return "" if self._planner is None else self._planner.explain(self.query)

    @staticmethod
    def plans(scheduler: Scheduler) -> dict[str, str]:
        """How each window join is run now, by its name in EXPLAIN."""
        nodes = [driver.node for driver in reversed(scheduler.operators)]
        return {node.title: node.plan_name for node in nodes if node.plan_name}
