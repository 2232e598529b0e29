"""COUNT, SUM, AVG, variances and standard deviations: exact, and rounded once."""

from __future__ import annotations

from windrow.plan.aggregates.arguments import ANYTHING, CONDITION, NUMBERS
from windrow.plan.aggregates.function import AggregateFunction, DistinctRule, Kept, Merging
from windrow.plan.types import MOST_DIGITS, digits_of_type

ACCUMULATOR = "windrow.operators.accumulators.sums:totals"
KEPT = Kept("its exact sum and the count of its non-NULL values")

COUNT = AggregateFunction(
    "count",
    takes=(ANYTHING,),
    says="`BIGINT`: the rows, for `COUNT(*)`; else those in which no argument is NULL",
    accumulator=ACCUMULATOR,
    gives="bigint",
    of_nothing=0,
    counts_rows=True,
    distinct=DistinctRule.once,
    kept=Kept("a count of rows", of_distinct="a count of values"),
    adds_up=True,
    merging=Merging.counted,
    estimated_by="the exact sum of weights",
)
COUNT_IF = AggregateFunction(
    "count_if",
    takes=(CONDITION,),
    says="`BIGINT`: the rows for which it holds",
    aliases=("countif",),
    computed_as=COUNT,
    reads="CASE WHEN {0} THEN 1 END",
    instead_of_distinct="write COUNT_IF(..), or BOOL_OR(..) to ask whether there is one",
)


def type_of_sum(argument: str) -> str:
    """Whole numbers give a bigint, decimals one of ten more digits, others doubles."""
    digits = digits_of_type(argument)
    if digits is None:
        return "double"
    if not digits.is_decimal:
        return "bigint"
    return f"decimal({min(MOST_DIGITS, digits.precision + 10)},{digits.scale})"


def type_of_average(argument: str) -> str:
    """Decimals give one of four more digits behind the point, others doubles."""
    digits = digits_of_type(argument)
    if digits is None or not digits.is_decimal:
        return "double"
    precision, scale = digits.precision + 4, digits.scale + 4
    return f"decimal({min(MOST_DIGITS, precision)},{min(MOST_DIGITS, scale)})"


SUM = AggregateFunction(
    "sum",
    takes=(NUMBERS,),
    says="`BIGINT`, `DOUBLE` or a wider `DECIMAL`",
    accumulator=ACCUMULATOR,
    gives=type_of_sum,
    distinct=DistinctRule.once,
    kept=KEPT,
    adds_up=True,
    merging=Merging.added,
    estimated_by="the exact sum of its values, each times the weight of its combination",
)
AVG = AggregateFunction(
    "avg",
    takes=(NUMBERS,),
    says="`DOUBLE`, or a wider `DECIMAL` of decimals",
    aliases=("mean",),
    accumulator=ACCUMULATOR,
    gives=type_of_average,
    distinct=DistinctRule.once,
    kept=KEPT,
    adds_up=True,
    merging=Merging.added,
    estimated_by="the exact sums of its values times weights, and of weights",
)


def _of_squares(name: str, says: str, *aliases: str) -> AggregateFunction:
    return AggregateFunction(
        name,
        takes=(NUMBERS,),
        says=f"`DOUBLE`; {says}",
        aliases=aliases,
        accumulator="windrow.operators.accumulators.variances:Variances",
        gives="double",
        distinct=DistinctRule.once,
        kept=Kept("its exact sum, that of its squares, and the count of its non-NULL values"),
        adds_up=True,
    )


COUNTED_AND_ADDED = (COUNT, COUNT_IF, SUM, AVG)
OF_SQUARES = (
    _of_squares("stddev_samp", "NULL of one value", "stddev", "std"),
    _of_squares("stddev_pop", "0.0 of one value"),
    _of_squares("var_samp", "NULL of one value", "variance"),
    _of_squares("var_pop", "0.0 of one value"),
)
