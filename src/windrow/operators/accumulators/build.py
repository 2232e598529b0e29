"""Which accumulators serve a list of aggregates: one per argument column and way of keeping it.

An aggregate's definition names its accumulator (`plan/aggregates`); those that name the same one and
read the same column share it.

COUNT, SUM, AVG            sums.py        counts, and exact sums
VAR_*, STDDEV_*            variances.py   exact sums of values and of squares
MIN, MAX, MEDIAN           ordered.py     the values alive, in order
MIN_BY, MAX_BY             value_by.py    pairs of values, in the order of the second
COUNT(DISTINCT x), ..      distinct.py    how many copies of each value, around one of the above
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windrow.operators.accumulators.base import Accumulator
from windrow.operators.accumulators.distinct import DistinctValues
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.registry import load


def key_of(aggregate: Aggregate) -> str | None:
    """The name of the accumulator that answers an aggregate; None for COUNT(*)."""
    if aggregate.argument is None:
        return None
    distinct = "distinct " if aggregate.is_distinct else ""
    return f"{aggregate.definition.accumulator} of {distinct}{aggregate.argument.columns[0]}"


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
    """One accumulator for aggregates of one name; a worker loads, and compiles, those of its own."""
    made: Accumulator = load(aggregates[0].definition.accumulator)(aggregates)
    return DistinctValues(made) if aggregates[0].is_distinct else made
