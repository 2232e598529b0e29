"""BOOL_AND: whether a condition holds for every row."""

from __future__ import annotations

from windrow.plan.aggregates.arguments import CONDITION
from windrow.plan.aggregates.function import AggregateFunction, Distinct
from windrow.plan.aggregates.ordered import MIN

BOOL_AND = AggregateFunction(
    "bool_and",
    takes=(CONDITION,),
    says="`BOOLEAN`: whether every one that is not NULL holds",
    aliases=("every",),
    computed_as=MIN,  # FALSE is less than TRUE
    distinct=Distinct.same,
)
