"""COUNT: rows, or values that are not NULL."""

from __future__ import annotations

from windrow.plan.aggregates.arguments import ANYTHING
from windrow.plan.aggregates.function import AggregateFunction, Distinct, Kept, Merging

COUNT = AggregateFunction(
    "count",
    takes=(ANYTHING,),
    says="`BIGINT`: the rows, for `COUNT(*)`; else those in which no argument is NULL",
    accumulator="windrow.operators.accumulators.sums:totals",
    gives="bigint",
    of_nothing=0,
    counts_rows=True,
    distinct=Distinct.once,
    kept=Kept("a count of rows", of_distinct="a count of values"),
    adds_up=True,
    merging=Merging.counted,
    estimated_by="the exact sum of weights",
)
