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


MIN = AggregateFunction(
    "min",
    takes=(ORDERED,),
    says="the type of the argument: the least value",
    accumulator=ACCUMULATOR,
    gives=type_of_first,
    distinct=Distinct.same,
    kept=IN_A_TREE,
    kept_in_order=OUTDOING,
    merging=Merging.outermost,
)
MAX = AggregateFunction(
    "max",
    takes=(ORDERED,),
    says="the type of the argument: the greatest value",
    accumulator=ACCUMULATOR,
    gives=type_of_first,
    distinct=Distinct.same,
    kept=IN_A_TREE,
    kept_in_order=OUTDOING,
    merging=Merging.outermost,
)
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
