"""Variances and standard deviations: exact, and rounded once."""

from __future__ import annotations

from windrow.plan.aggregates.arguments import NUMBERS
from windrow.plan.aggregates.function import AggregateFunction, Distinct, Kept


def _of_squares(name: str, says: str, *aliases: str) -> AggregateFunction:
    return AggregateFunction(
        name,
        takes=(NUMBERS,),
        says=f"`DOUBLE`; {says}",
        aliases=aliases,
        accumulator="windrow.operators.accumulators.variances:Variances",
        gives="double",
        distinct=Distinct.once,
        kept=Kept("its exact sum, that of its squares, and the count of its non-NULL values"),
        adds_up=True,
    )


STDDEV_SAMP = _of_squares("stddev_samp", "NULL of one value", "stddev", "std")
STDDEV_POP = _of_squares("stddev_pop", "0.0 of one value")
VAR_SAMP = _of_squares("var_samp", "NULL of one value", "variance")
VAR_POP = _of_squares("var_pop", "0.0 of one value")
