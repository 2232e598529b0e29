"""From a logical query to a physical one: verification, rules, choice of algorithms.

`QueryPlanner` does it again for a query that runs, by what is known of its data by now: hints,
samples, what workers have seen.

In process the whole query is planned again, by the batches that its streams have brought. On Spark
each worker plans the window join of its bucket. It sees the bucket's rows at every input: their
rates, whatever filters and joins lie below, and samples of their values. What the user has said of
whole streams holds for a bucket in proportion: of a key that rows are spread by, a bucket has its
share of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from windrow.errors import InternalError
from windrow.optimize import rules
from windrow.optimize.choose.one_core import is_paced, most_times_as_fast
from windrow.optimize.choose.physical_node import check_match_algorithm, check_order, choose
from windrow.optimize.choose.plans import REFERENCE_MACHINE, Machine, by_cost, plan_names, planned
from windrow.optimize.choose.scheduling import scheduled
from windrow.optimize.cost.statistics import ASSUMED_KEYS, PlanStatistics, Remembered
from windrow.optimize.load_shedding.plan import with_shedding
from windrow.optimize.options import check_updates, with_hints
from windrow.physical.algorithms import ALGORITHMS, DEFAULT
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.options import Options
from windrow.physical.partitioning.buckets import HashShares, Partitioning
from windrow.physical.query import PhysicalQuery
from windrow.plan.exprs import Band
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.query import Query
from windrow.plan.statistics import ASSUMED, Figure, Measured, Statistics

Rule = Callable[[Node], Node]

RULES: tuple[Rule, ...] = (
    # These two make filters and projections, which the rules below then move and narrow.
    rules.filter_keys_of_one_input,
    rules.compute_below_aggregate,
    # Merged first: the pushing rules then look at every predicate of a place at once.
    rules.merge_filters,
    rules.push_filters,
    rules.push_own_conditions,
    rules.push_table_join_below_join,
    # What reads one input has gone below: the rest of a Filter over a join is the join's.
    rules.absorb_filters,
    # Last: only where the filters have come to rest is it known which columns end there.
    rules.prune_columns,
)

MOST_PASSES = 100
"""Each pass moves some filter at least one node down, so that real plans need a handful."""


def optimize(
    query: Query,
    options: Options,
    *,
    measured: Measured[str] | None = None,
    tables: Measured[str] | None = None,
    machine: Machine = REFERENCE_MACHINE,
    is_running: bool = False,
) -> PhysicalQuery:
    """The physical form of a query, with its hints merged into the options.

    Args:
        query: what is asked.
        options: what the user has set.
        measured: looks up numbers in the data of streams of which no hint tells them.
        tables: the same for streams that are there as a whole: since these tell the same at any time,
            they have a say in what stages there are.
        machine: what operations cost.
        is_running: whether it runs already: rates are then as measured, whatever hints say.
    """
    options = with_hints(options, query.hints)
    check_updates(query, options)
    query.root.verify()
    plan = apply_rules(query.root)
    root = choose(plan, options)
    if options.limits_joins:
        root = with_shedding(root, options)
    said = {stream.name: stream.statistics for stream in plan.streams}
    bounded = frozenset(stream.name for stream in plan.streams if stream.is_bounded)
    root = rules.push_distinct(root, options, PlanStatistics(said, tables, bounded))
    check_order(root, options)
    check_match_algorithm(root, options)
    found = None if measured is None else Remembered(measured)
    numbers = PlanStatistics(said, found, bounded, is_running=is_running)
    root, schedule = scheduled(
        by_cost(root, options, numbers, machine), options, PlanStatistics(said)
    )
    return PhysicalQuery(
        root,
        query.is_changelog,
        query.time_type,
        query.sql,
        options,
        keys=query.keys,
        schedule=schedule,
        is_paced=is_paced(root, query.time_type, numbers),
        times_as_fast=most_times_as_fast(root, query.time_type, numbers, machine),
    )


def apply_rules(plan: Node) -> Node:
    """The plan with all rules applied, in order, until none changes anything."""
    for _ in range(MOST_PASSES):
        before = plan
        for rule in RULES:
            plan = rule(plan)
        if plan == before:
            return plan
    raise InternalError(
        "rules-do-not-settle", f"the plan still changes after {MOST_PASSES} passes of the rules"
    )


@dataclass(frozen=True)
class QueryPlanner:
    """What a running query asks for another plan; a `physical.query.Planner`.

    Attributes:
        query: as it was compiled.
        given: the options that keywords gave.
        options: those of the query, the ones that its text asks for among them.
        hints: what the user has said, by stream.
        machine: what operations cost.
        tables: looks numbers up in streams that are there as a whole; None on Spark.
        is_bounded: on Spark, whether the run is a batch, whose answers nobody waits for one by one.
    """

    query: Query
    given: Options
    options: Options
    hints: Mapping[str, Statistics]
    machine: Machine
    tables: Measured[str] | None = None
    is_bounded: bool = False

    @cached_property
    def rates(self) -> dict[str, float]:
        """The rates by stream that it was planned for at first, as far as they were known."""
        rates = {
            name: said.rate or (self.tables.rate(name) if self.tables else None)
            for name, said in self.hints.items()
        }
        return {name: rate.value for name, rate in rates.items() if rate is not None}

    def again(self, known: Measured[str]) -> PhysicalQuery:
        """The query by these numbers, which are newer than any hint of a rate."""
        return optimize(
            self.query,
            self.given,
            measured=known,
            tables=self.tables,
            machine=self.machine,
            is_running=True,
        )

    def explain(self, query: PhysicalQuery) -> str:
        """EXPLAIN of the query as it runs."""
        from windrow.physical.explain.explanation import explain  # noqa: PLC0415  # not in workers

        return explain(self.query, query)

    def names(self, node: PhysicalNode) -> tuple[str, ...]:
        """The plans that a worker may take; none where the plan stays as it is."""
        if not (node.has_plans and self.options.leaves_plans):
            return ()
        return plan_names(self.usual(node), self.machine, is_bounded=self.is_bounded)

    def usual(self, node: PhysicalNode) -> MultiJoin:
        """The join by the plan that its conditions alone suggest."""
        join = _join(node)
        method = ALGORITHMS[DEFAULT].methods[0 if join.classes else -1]
        return join.by(DEFAULT, method)

    def planned(
        self, node: PhysicalNode, partitioning: Partitioning, seen: Measured[int]
    ) -> PhysicalNode:
        """The join by the plan to take in a bucket; without a rate of some input, as it is."""
        numbers = InputStatistics(
            self.hints,
            bounded=frozenset(scan.stream for scan in node.scans if self.is_bounded),
            is_restored=seen.is_restored,
            join=_join(node),
            partitioning=partitioning,
            seen=seen,
        )
        found = planned(self.usual(node), self.options, numbers, self.machine)
        return found if found.estimate is not None and found.estimate.plans else node


def _join(node: PhysicalNode) -> MultiJoin:
    """The node as what it is: only window joins have several plans."""
    assert node.has_plans
    return cast("MultiJoin", node)


@dataclass(frozen=True, kw_only=True)
class InputStatistics(PlanStatistics):
    """The numbers of the inputs of a join in one bucket, which shows what is `seen`."""

    join: MultiJoin
    partitioning: Partitioning
    seen: Measured[int]

    def rate(self, node: PhysicalNode) -> Figure | None:
        """Rows of an input per tick: as seen, or else a bucket's part of what was said."""
        port = self._port(node)
        if port is None:
            return super().rate(node)
        found = self.seen.rate(port)
        if found is not None:
            return found
        said = super().rate(node)
        return said and Figure(said.value * self._part_of_rows(port), said.source)

    def different(self, node: PhysicalNode, column: str) -> Figure:
        """How many different values a column of an input has in the bucket."""
        port = self._port(node)
        assert port is not None
        said = self._looked_up(node, column)
        if said is not None:
            return Figure(max(1.0, said.value / self._parts_of_key(port, column)), said.source)
        return self.seen.different(port, column) or Figure(ASSUMED_KEYS, ASSUMED)

    def ahead(self, node: PhysicalNode) -> float:
        """The rows of an input that come at once."""
        port = self._port(node)
        return 0.0 if port is None else float(self.seen.rows_per_batch(port))

    def within(
        self, left: tuple[PhysicalNode, str], right: tuple[PhysicalNode, str], band: Band
    ) -> Figure | None:
        """The share of pairs of two columns whose difference a band allows."""
        ports = self._port(left[0]), self._port(right[0])
        if ports[0] is None or ports[1] is None or band.scale:
            return None
        return self.seen.within((ports[0], left[1]), (ports[1], right[1]), band.low, band.high)

    def _port(self, node: PhysicalNode) -> int | None:
        """Which input a node is; None for what lies below one."""
        return next((at for at, child in enumerate(self.join.inputs) if child is node), None)

    def _part_of_rows(self, port: int) -> float:
        """The share of an input's rows that a bucket has. Of slices it has few, and these whole."""
        spread = self.partitioning
        return spread.copies[port] / spread.buckets if isinstance(spread, HashShares) else 1.0

    def _parts_of_key(self, port: int, column: str) -> int:
        """Over how many buckets the values of a key are spread.

        Keys that are hashed together are not spread one by one.
        """
        if not isinstance(self.partitioning, HashShares):
            return 1
        at = next(at for at, key in enumerate(self.join.classes) if key.columns[port] == column)
        groups = zip(self.partitioning.classes, self.partitioning.shares, strict=True)
        return next((share for group, share in groups if group == (at,)), 1)
