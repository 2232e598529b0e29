"""What EXPLAIN says an aggregate keeps per group, and why a change costs what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.plan.aggregates.function import Kept
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.plan.texts import show_aggregate

if TYPE_CHECKING:
    from windrow.physical.explain.facts import Fact
    from windrow.physical.nodes.sliding_aggregate import SlidingAggregate


FEW_ROWS = 256
"""So many rows without an end are kept as they come where values are kept, and cancel out later."""


def kept_per_group(node: SlidingAggregate, *, is_steady: bool) -> list[str]:
    """What is kept for each; `is_steady`: all rows live equally long, and leave as they came."""
    return [
        f"{show_aggregate(each)}: {_words(node, each, is_steady=is_steady)}"
        for each in node.aggregates
    ]


def _words(node: SlidingAggregate, aggregate: Aggregate, *, is_steady: bool) -> str:
    if node.estimated_from:
        return aggregate.definition.estimated_by
    kept = _kept(node, aggregate, is_steady=is_steady)
    if not aggregate.is_distinct:
        return kept.words
    return f"{kept.of_distinct or kept.words}; of each value the number of its copies"


def _kept(node: SlidingAggregate, aggregate: Aggregate, *, is_steady: bool) -> Kept:
    """What is kept for an aggregate, less where all that share its accumulator can do with less."""
    own = aggregate.definition
    sharing = [
        each.definition
        for each in node.aggregates
        if each.argument == aggregate.argument and each.definition.accumulator == own.accumulator
    ]
    has_less = is_steady and all(each.kept_in_order for each in sharing)
    return (own.kept_in_order if has_less else None) or own.kept


def values_in_state(node: SlidingAggregate, *, has_ends: bool) -> list[str]:
    """What is kept beside one accumulator row per group, and is made from the rows alive.

    `has_ends`: rows end by themselves, and wait for that; others are kept for their values.
    """
    beside = [each.definition.kept.beside for each in node.aggregates]
    kept = list(dict.fromkeys(words for words in beside if words))
    if any(each.is_distinct for each in node.aggregates):
        kept.append("the copies of each distinct value, made again from the rows alive")
    if kept and not has_ends:
        kept.append(
            f"the rows alive, and those that cancel out: never above 2 x alive + {FEW_ROWS}"
        )
    return kept


def cost_of_a_change(node: SlidingAggregate, *, is_steady: bool) -> list[str]:
    """Why the aggregate is computed as it is."""
    kept = [(each, _kept(node, each, is_steady=is_steady)) for each in node.aggregates]
    costs: dict[str, list[str]] = {}
    for each, own in sorted(kept, key=lambda pair: pair[1] is pair[0].definition.kept):
        if own.cost:
            costs.setdefault(own.cost, []).append(show_aggregate(each))
    said = ["expiring rows are subtracted: a change costs its own rows, not the window"]
    return said + [f"{', '.join(names)}: {cost}" for cost, names in costs.items()]


def estimating_facts(node: SlidingAggregate) -> list[Fact]:
    """What its answers are, and how they come about; none for one that is exact."""
    if not node.estimated_from:
        return []
    return [
        (
            "estimates",
            [
                "each with its 95% interval, from _low to _high: the join below sheds",
                "where nothing was shed they are exact, and both ends are the value",
            ],
        ),
        (
            "how",
            [
                "a combination found weighs 1 / its chance (Horvitz and Thompson)",
                "variance: squares of the sums over combinations that share a tuple, by each of the"
                f" {2**node.estimated_from - 1} sets of streams; Student's quantile",
            ],
        ),
    ]
