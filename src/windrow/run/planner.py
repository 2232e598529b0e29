"""What plans a query that runs already: either runner asks it, by what is known of the data by now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.physical.partitioning.buckets import Partitioning
    from windrow.physical.query import PhysicalQuery
    from windrow.plan.statistics import Measured


class Planner(Protocol):
    """Plans the query at hand anew: in process as a whole, on Spark join by join, in the workers."""

    @property
    def rates(self) -> Mapping[str, float]:
        """The rates by stream that it was planned for at first, as far as they were known."""
        ...

    def again(self, known: Measured[str]) -> PhysicalQuery:
        """The query as planned by these numbers; its operators are those of before."""
        ...

    def explain(self, query: PhysicalQuery) -> str:
        """EXPLAIN of the query as it runs."""
        ...

    def names(self, node: PhysicalNode) -> tuple[str, ...]:
        """The plans that a worker may take; none where the plan stays as it is."""
        ...

    def usual(self, node: PhysicalNode) -> PhysicalNode:
        """A join by the plan that its conditions alone suggest."""
        ...

    def planned(
        self, node: PhysicalNode, partitioning: Partitioning, seen: Measured[int]
    ) -> PhysicalNode:
        """A join by the plan to take in a bucket; without a rate of some input, as it is."""
        ...
