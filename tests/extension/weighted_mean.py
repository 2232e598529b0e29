"""An aggregate as another package would add it: one file."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from windrow import extend
from windrow.extend import NUMBERS, AggregateFunction, Kept, PlainValues


class WeightedMean(PlainValues):
    """The sum of values times weights over that of weights, rounded once."""

    def answer(self, values: list[Any]) -> float | None:
        weights = sum(Fraction(weight) for _, weight in values)
        total = sum(Fraction(value) * Fraction(weight) for value, weight in values)
        return float(total / weights) if weights else None


extend.aggregate(
    AggregateFunction(
        "weighted_mean",
        takes=(NUMBERS, NUMBERS),
        says="`DOUBLE`: the mean of x, each weighted by y",
        aliases=("wavg",),
        accumulator="weighted_mean:WeightedMean",
        gives="double",
        kept=Kept("its values and weights", beside="the values and weights of the rows alive"),
    )
)
