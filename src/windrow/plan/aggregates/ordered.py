"""MIN, MAX and MEDIAN: what is read from the values alive, in order."""

from __future__ import annotations

from windrow.plan.aggregates.arguments import NUMBERS, ORDERED
from windrow.plan.aggregates.function import AggregateFunction, Distinct, Kept, Merging

ACCUMULATOR = "windrow.operators.accumulators.ordered:Ordered"
_BESIDE = "the values in order, at most one per row alive, made again from these"
IN_A_TREE = Kept(
    "its values in order, each once with the number of its copies",
    beside=_BESIDE,
    cost="a change costs the logarithm of the group's distinct values",
)
OUTDOING = Kept(
    "those of its values that no younger one outdoes, oldest first",
    beside=_BESIDE,
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
        distinct=Distinct.same,
        kept=IN_A_TREE,
        kept_in_order=OUTDOING,
        merging=Merging.outermost,
    )


def value_by(name: str, most: str, accumulator: str) -> AggregateFunction:
    """MIN_BY or MAX_BY: x in the row with the most of y, `most` being "least" or "greatest"."""
    return AggregateFunction(
        name,
        takes=(ORDERED, ORDERED),
        says=f"the type of x: x in the row with the {most} y; of several such rows the {most} x, NULL"
        " only where there is no other. Rows where y is NULL are left out",
        accumulator=accumulator,
        reads="CASE WHEN NOT {1} IS NULL THEN STRUCT({0} AS x, {1} AS y) END",
        gives=type_of_first,
        distinct=Distinct.same,
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
