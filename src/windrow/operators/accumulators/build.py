"""Which accumulators serve a list of aggregates: one per argument column and way of keeping it.

COUNT, SUM, AVG            sums.py        counts, and exact sums
VAR_*, STDDEV_*            variances.py   exact sums of values and of squares
MIN, MAX, MEDIAN           ordered.py     the values alive, in order
COUNT(DISTINCT x), ..      distinct.py    how many copies of each value, around one of the above
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from windrow.errors import UnsupportedError
from windrow.operators.accumulators.base import Accumulator
from windrow.operators.accumulators.distinct import DistinctValues
from windrow.operators.accumulators.ordered import Ordered
from windrow.operators.accumulators.sums import CountOnly, Decimals, Doubles, Integers
from windrow.operators.accumulators.variances import FUNCTIONS, Variances
from windrow.operators.arrow_types import arrow_type
from windrow.plan.nodes.window_aggregate import Aggregate


def key_of(aggregate: Aggregate) -> str | None:
    """The name of the accumulator that answers an aggregate; None for COUNT(*)."""
    if aggregate.argument is None:
        return None
    distinct = "distinct " if aggregate.is_distinct else ""
    return f"{_way(aggregate)} of {distinct}{aggregate.argument.columns[0]}"


def argument_columns(aggregates: Sequence[Aggregate]) -> list[str]:
    """The columns that aggregates read, each once."""
    return list(dict.fromkeys(a.argument.columns[0] for a in aggregates if a.argument))


def readers(
    aggregates: Sequence[Aggregate], accumulators: Mapping[str, Accumulator]
) -> dict[str, list[Accumulator]]:
    """Which of the accumulators read each column."""
    names = {
        column: dict.fromkeys(
            str(key_of(a)) for a in aggregates if a.argument and a.argument.columns[0] == column
        )
        for column in argument_columns(aggregates)
    }
    return {
        column: [accumulators[name] for name in own if name in accumulators]
        for column, own in names.items()
    }


def _way(aggregate: Aggregate) -> str:
    if aggregate.function in FUNCTIONS:
        return "variances"
    return "order" if aggregate.function in {"min", "max", "median"} else "sums"


def accumulators_of(aggregates: Sequence[Aggregate]) -> dict[str, Accumulator]:
    """The accumulators of all aggregates, by their names.

    Raises:
        UnsupportedError: an argument's type has no sum.
    """
    served: dict[str, list[Aggregate]] = {}
    for aggregate in aggregates:
        key = key_of(aggregate)
        if key is not None:
            served.setdefault(key, []).append(aggregate)
    return {key: _accumulator(own) for key, own in served.items()}


def _accumulator(aggregates: Sequence[Aggregate]) -> Accumulator:
    """One accumulator for aggregates of one name."""
    way = _way(aggregates[0])
    if way == "order":
        return Ordered(aggregates)
    made = Variances(aggregates) if way == "variances" else _sums(aggregates)
    return DistinctValues(made) if aggregates[0].is_distinct else made


def _sums(aggregates: Sequence[Aggregate]) -> Accumulator:
    if all(aggregate.function == "count" for aggregate in aggregates):
        return CountOnly(aggregates)
    argument = aggregates[0].argument
    assert argument is not None, "only COUNT has no argument"
    kind = arrow_type(argument.type)
    if pa.types.is_integer(kind):
        return Integers(aggregates)
    if pa.types.is_floating(kind):
        return Doubles(aggregates)
    if pa.types.is_decimal(kind):
        return Decimals(aggregates, kind)
    function = next(a.function for a in aggregates if a.function != "count").upper()
    raise UnsupportedError(
        "aggregate-type",
        f"{function}({argument.text}) has an argument of type {argument.type}",
        reason=f"{function} takes whole numbers, decimals, float and double",
        hint=f"cast it, for instance  {function}(CAST({argument.text} AS DOUBLE))",
    )
