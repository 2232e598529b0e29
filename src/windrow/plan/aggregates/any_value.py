"""ANY_VALUE: some value of the group. It is the least, so that every run gives the same."""

from __future__ import annotations

from windrow.plan.aggregates.arguments import ORDERED
from windrow.plan.aggregates.function import AggregateFunction, Distinct
from windrow.plan.aggregates.ordered import MIN

ANY_VALUE = AggregateFunction(
    "any_value",
    takes=(ORDERED,),
    says="the type of the argument: the least value, so that every run gives the same one; NULL only"
    " where there is no other, with `IGNORE NULLS` or without",
    computed_as=MIN,
    takes_nulls_clause=True,
    distinct=Distinct.same,
)
