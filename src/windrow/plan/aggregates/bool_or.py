"""BOOL_OR: whether a condition holds for any row."""

from __future__ import annotations

from windrow.plan.aggregates.arguments import CONDITION
from windrow.plan.aggregates.function import AggregateFunction, Distinct
from windrow.plan.aggregates.ordered import MAX

BOOL_OR = AggregateFunction(
    "bool_or",
    takes=(CONDITION,),
    says="`BOOLEAN`: whether any that is not NULL holds",
    aliases=("any", "some"),
    computed_as=MAX,  # FALSE is less than TRUE
    distinct=Distinct.same,
)
