"""The aggregates that queries may call, by name: one object each, a file for each family.

In: nothing. Out: what the parser, the binder, the planner, EXPLAIN and the reference say of each.
Knows no data: what computes an aggregate is named by import path. Others add theirs through
`windrow.extend.aggregate`.
"""

from __future__ import annotations

from windrow.errors import PlanError
from windrow.plan.aggregates import ordered, sums
from windrow.plan.aggregates.function import AggregateFunction
from windrow.registry import Registry

AGGREGATES: Registry[AggregateFunction] = Registry("aggregate")
"""Every aggregate, under each of its names."""


def add_aggregate(function: AggregateFunction) -> None:
    """Lets queries call an aggregate, by any of its names.

    Raises:
        PlanError: a name is taken, or none; or nothing says what computes it.
    """
    for name in function.names:
        if name != name.lower() or not name.isidentifier():
            raise PlanError(
                "aggregate-name",
                f"{name!r} cannot be the name of an aggregate",
                hint="a name is one word of letters, digits and _, in lower case",
            )
    if bool(function.accumulator) == bool(function.computed_as):
        raise PlanError(
            "aggregate-without-accumulator",
            f"the aggregate {function.name} must name either an accumulator or computed_as, not both",
            hint="give accumulator='module:name', or computed_as= the aggregate that it is computed as",
        )
    for name in function.names:
        AGGREGATES.add(name, function)


def all_aggregates() -> tuple[AggregateFunction, ...]:
    """Every aggregate once, in the order of the reference."""
    return tuple(dict.fromkeys(AGGREGATES.values()))


for _function in (*sums.COUNTED_AND_ADDED, *ordered.IN_ORDER, *sums.OF_SQUARES):
    add_aggregate(_function)
