"""SUM and AVG: exact, and rounded once."""

from __future__ import annotations

from windrow.plan.aggregates.arguments import NUMBERS
from windrow.plan.aggregates.function import AggregateFunction, Distinct, Kept, Merging
from windrow.plan.types import MOST_DIGITS, digits_of_type

ACCUMULATOR = "windrow.operators.accumulators.sums:totals"
KEPT = Kept("its exact sum and the count of its non-NULL values")


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
    distinct=Distinct.once,
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
    distinct=Distinct.once,
    kept=KEPT,
    adds_up=True,
    merging=Merging.added,
    estimated_by="the exact sums of its values times weights, and of weights",
)
