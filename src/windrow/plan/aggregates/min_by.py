"""MIN_BY(x, y): x in the row with the least y. Rows with equal y are in the order of x."""

from __future__ import annotations

from windrow.plan.aggregates.arguments import ORDERED
from windrow.plan.aggregates.function import AggregateFunction, Distinct
from windrow.plan.aggregates.ordered import IN_A_TREE, OUTDOING, type_of_first

MIN_BY = AggregateFunction(
    "min_by",
    takes=(ORDERED, ORDERED),
    says="the type of x: x in the row with the least y; of several such rows the least x, NULL only"
    " where there is no other. Rows where y is NULL are left out",
    accumulator="windrow.operators.accumulators.value_by:MinBy",
    reads="CASE WHEN NOT {1} IS NULL THEN STRUCT({0} AS x, {1} AS y) END",
    gives=type_of_first,
    distinct=Distinct.same,
    kept=IN_A_TREE,
    kept_in_order=OUTDOING,
)
