"""What EXPLAIN says an aggregate keeps per group, and why a change costs what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.physical.estimating_facts import ESTIMATORS
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.plan.texts import show_aggregate

if TYPE_CHECKING:
    from windrow.physical.nodes.sliding_aggregate import SlidingAggregate

FEW_ROWS = 256
"""So many rows without an end are kept as they come where values are kept, and cancel out later."""

_SUM = "its exact sum and the count of its non-NULL values"
_SQUARES = "its exact sum, that of its squares, and the count of its non-NULL values"
_ORDER = "its values in order, each once with the number of its copies"
_OUTDOES = "those of its values that no younger one outdoes, oldest first"

_ORDERS = {"min", "max", "median"}

ACCUMULATORS = {
    "sum": _SUM,
    "avg": _SUM,
    "count": "a count of rows",
    "var_pop": _SQUARES,
    "var_samp": _SQUARES,
    "stddev_pop": _SQUARES,
    "stddev_samp": _SQUARES,
    "min": _ORDER,
    "max": _ORDER,
    "median": _ORDER,
}


def kept_per_group(spec: SlidingAggregate, *, is_steady: bool) -> list[str]:
    """What is kept for each aggregate.

    Args:
        spec: the aggregate.
        is_steady: whether all rows live equally long, so that they leave as they came.
    """
    return [f"{show_aggregate(each)}: {_kept(spec, each, is_steady)}" for each in spec.aggregates]


def _kept(spec: SlidingAggregate, aggregate: Aggregate, is_steady: bool) -> str:  # noqa: FBT001
    if spec.estimated_from:
        return ESTIMATORS[aggregate.function]
    if is_steady and aggregate in _extremes_alone(spec):
        return _OUTDOES
    kept = ACCUMULATORS[aggregate.function]
    if not aggregate.is_distinct:
        return kept
    kept = "a count of values" if aggregate.function == "count" else kept
    return f"{kept}; of each value the number of its copies"


def _extremes_alone(spec: SlidingAggregate) -> list[Aggregate]:
    """MIN and MAX of columns that have no MEDIAN, whose order serves both."""
    ordered = {a.argument for a in spec.aggregates if a.function == "median"}
    extremes = [a for a in spec.aggregates if a.function in {"min", "max"}]
    return [a for a in extremes if a.argument not in ordered]


def values_in_state(spec: SlidingAggregate, *, has_ends: bool) -> list[str]:
    """What is kept beside one accumulator row per group, and is made from the rows alive.

    `has_ends`: rows end by themselves, and wait for that; others are kept for their values.
    """
    functions = {each.function for each in spec.aggregates}
    kept = []
    if functions & _ORDERS:
        kept.append("the values in order, at most one per row alive, made again from these")
    if any(each.is_distinct for each in spec.aggregates):
        kept.append("the copies of each distinct value, made again from the rows alive")
    if kept and not has_ends:
        kept.append(
            f"the rows alive, and those that cancel out: never above 2 x alive + {FEW_ROWS}"
        )
    return kept


def cost_of_a_change(spec: SlidingAggregate, *, is_steady: bool) -> list[str]:
    """Why the aggregate is computed as it is."""
    said = ["expiring rows are subtracted: a change costs its own rows, not the window"]
    outdone = _extremes_alone(spec) if is_steady else []
    ordered = [a for a in spec.aggregates if a.function in _ORDERS and a not in outdone]
    if outdone:
        said.append(
            f"{_names(outdone)}: all rows live equally long, so that a value which a younger one"
            " outdoes is not needed; a change costs the same however many are alive"
        )
    if ordered:
        said.append(
            f"{_names(ordered)}: a change costs the logarithm of the group's distinct values"
        )
    return said


def _names(aggregates: list[Aggregate]) -> str:
    return ", ".join(map(show_aggregate, aggregates))
