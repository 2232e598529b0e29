"""Plans a query that runs in process again, by the numbers that it has seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.optimize.choose.plans import Machine
from windrow.optimize.optimizer import optimize
from windrow.physical.explain.explanation import explain
from windrow.physical.options import Options
from windrow.physical.query import PhysicalQuery
from windrow.plan.nodes.query import Query
from windrow.plan.statistics import Measured


@dataclass(frozen=True)
class RunningPlanner:
    """What a running query asks for another plan.

    Attributes:
        query: as it was compiled.
        options: as the user gave them.
        rates: by stream, those that it was planned for at first, as far as they were known.
        machine: what work costs here.
        tables: looks numbers up in streams that are there as a whole, as at first.
    """

    query: Query
    options: Options
    rates: Mapping[str, float]
    machine: Machine
    tables: Measured | None = None

    def again(self, measured: Measured) -> PhysicalQuery:
        """The query by these numbers, which are newer than any hint of a rate."""
        return optimize(
            self.query,
            self.options,
            measured=measured,
            tables=self.tables,
            machine=self.machine,
            is_running=True,
        )

    def explain(self, query: PhysicalQuery) -> str:
        """EXPLAIN of the query as it runs."""
        return explain(self.query, query)
