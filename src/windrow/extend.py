"""Adding to Windrow from another package: one function for each kind of thing.

A package that calls these in a module of its own names that module as an entry point, and users
need not import it:

    [project.entry-points."windrow.plugins"]
    my_package = "my_package.plugin"

What is added is named by import path wherever it is code, so that it is loaded where it runs.
"""

from __future__ import annotations

from windrow.plan.aggregates import add_aggregate
from windrow.plan.aggregates.function import AggregateFunction


def aggregate(function: AggregateFunction) -> None:
    """Adds an aggregate that queries may call, in process and on Spark.

    Args:
        function: its names, what it takes and gives, and the accumulator that computes it. On Spark
            workers import the accumulator: it must be installed where they are.

    Raises:
        PlanError: it has a name that is taken, or nothing that computes it.

    Examples:
        >>> from windrow.plan.aggregates.arguments import NUMBERS
        >>> aggregate(
        ...     AggregateFunction(
        ...         "geometric_mean",
        ...         takes=(NUMBERS,),
        ...         says="`DOUBLE`",
        ...         accumulator="my_package.means:GeometricMean",
        ...         gives="double",
        ...     )
        ... )  # doctest: +SKIP
    """
    add_aggregate(function)
