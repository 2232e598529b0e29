"""MIN, MAX, MEDIAN and their like: what is read from the values alive, in order.

ANY_VALUE gives the least, so that every run gives the same. Of rows with equal y, MIN_BY and MAX_BY
take them in the order of x.
"""

from __future__ import annotations

from windrow.plan.aggregates.arguments import CONDITION, NUMBERS, ORDERED
from windrow.plan.aggregates.function import AggregateFunction, DistinctRule, Kept, Merging

ACCUMULATOR = "windrow.operators.accumulators.ordered:Ordered"
IN_A_TREE = Kept(
    "its values in order, each once with the number of its copies",
    beside="the values in order, at most one per row alive",
    cost="a change costs the logarithm of the group's distinct values",
)
OUTDOING = Kept(
    "those of its values that no younger one outdoes, oldest first",
    beside="the values that no younger one outdoes, at most one per row alive",
    cost="all rows live equally long, so that a value which a younger one outdoes is not needed; a"
    " change costs the same however many are alive",
)


def type_of_first(argument: str, *_: str) -> str:
    """That of the first argument."""
    return argument


def _outermost(name: str, which: str) -> AggregateFunction:
    return AggregateFunction(
        name,
        takes=(ORDERED,),
        says=f"the type of the argument: the {which} value",
        accumulator=ACCUMULATOR,
        gives=type_of_first,
        distinct=DistinctRule.same,
        kept=IN_A_TREE,
        kept_in_order=OUTDOING,
        merging=Merging.outermost,
    )


def value_by(name: str, most: str, accumulator: str) -> AggregateFunction:
    """MIN_BY or MAX_BY: x in the row with the most of y, `most` being "least" or "greatest"."""
    return AggregateFunction(
        name,
        takes=(ORDERED, ORDERED),
        says=f"the type of x: x in the row with the {most} y; if several rows have that y, the {most} x"
        " among them; NULL if all are NULL. Rows where y is NULL are left out",
        accumulator=accumulator,
        reads="CASE WHEN NOT {1} IS NULL THEN STRUCT({0} AS x, {1} AS y) END",
        gives=type_of_first,
        distinct=DistinctRule.same,
        kept=IN_A_TREE,
        kept_in_order=OUTDOING,
    )


MIN = _outermost("min", "least")
MAX = _outermost("max", "greatest")
MEDIAN = AggregateFunction(
    "median",
    takes=(NUMBERS,),
    says="`DOUBLE`; of an even number of values halfway between the two middle ones, as Spark"
    " computes it",
    accumulator=ACCUMULATOR,
    gives="double",
    instead_of_distinct="write MEDIAN(..), or MIN, MAX, COUNT, SUM, AVG, STDDEV or VARIANCE of"
    " distinct values",
    kept=IN_A_TREE,
)
ANY_VALUE = AggregateFunction(
    "any_value",
    takes=(ORDERED,),
    says="the type of the argument: the least value, so that every run gives the same one; NULL if all"
    " are NULL, with `IGNORE NULLS` or without",
    computed_as=MIN,
    takes_nulls_clause=True,
    distinct=DistinctRule.same,
)
BOOL_OR = AggregateFunction(
    "bool_or",
    takes=(CONDITION,),
    says="`BOOLEAN`: whether any that is not NULL holds",
    aliases=("any", "some"),
    computed_as=MAX,  # FALSE is less than TRUE
    distinct=DistinctRule.same,
)
BOOL_AND = AggregateFunction(
    "bool_and",
    takes=(CONDITION,),
    says="`BOOLEAN`: whether every one that is not NULL holds",
    aliases=("every",),
    computed_as=MIN,  # FALSE is less than TRUE
    distinct=DistinctRule.same,
)
MIN_BY = value_by("min_by", "least", "windrow.operators.accumulators.ordered:MinBy")
MAX_BY = value_by("max_by", "greatest", "windrow.operators.accumulators.ordered:MaxBy")

IN_ORDER = (MIN, MAX, MIN_BY, MAX_BY, ANY_VALUE, BOOL_OR, BOOL_AND, MEDIAN)
