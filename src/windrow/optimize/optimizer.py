"""From a logical query to a physical one: rules, verification, choice of algorithms."""

from __future__ import annotations

from collections.abc import Callable

from windrow.errors import InternalError
from windrow.optimize.choose.match_algorithm import check_match_algorithm
from windrow.optimize.choose.orders import check_order
from windrow.optimize.choose.physical_node import choose
from windrow.optimize.choose.plans import REFERENCE_MACHINE, Machine, by_cost
from windrow.optimize.choose.scheduling import scheduled
from windrow.optimize.options import check_updates, with_hints
from windrow.optimize.plan_statistics import PlanStatistics
from windrow.optimize.rules.columns import (
    compute_below_aggregate,
    filter_keys_of_one_input,
    prune_columns,
)
from windrow.optimize.rules.filters import (
    absorb_filters,
    merge_filters,
    push_filters,
    push_own_conditions,
    push_table_join_below_join,
)
from windrow.optimize.rules.push_distinct import push_distinct
from windrow.optimize.shedding.plan import with_estimates, with_shedding
from windrow.physical.options import Options
from windrow.physical.query import PhysicalQuery
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.query import Query
from windrow.plan.statistics import Measured

Rule = Callable[[Node], Node]

RULES: tuple[Rule, ...] = (
    # These two make filters and projections, which the rules below then move and narrow.
    filter_keys_of_one_input,
    compute_below_aggregate,
    # Merged first: the pushing rules then look at every predicate of a place at once.
    merge_filters,
    push_filters,
    push_own_conditions,
    push_table_join_below_join,
    # What reads one input has gone below: the rest of a Filter over a join is the join's.
    absorb_filters,
    # Last: only where the filters have come to rest is it known which columns end there.
    prune_columns,
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
    root = with_estimates(with_shedding(choose(plan, options), options))
    said = {stream.name: stream.statistics for stream in plan.streams}
    bounded = frozenset(stream.name for stream in plan.streams if stream.is_bounded)
    root = push_distinct(root, options, PlanStatistics(said, tables, bounded))
    check_order(root, options)
    check_match_algorithm(root, options)
    numbers = PlanStatistics(said, measured, bounded, is_running=is_running)
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
