"""The orders of a window join that cost least by the work that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from windrow.optimize.cost.joins import Joined, Work, backward, has_key, pipeline

MOST_ORDERED = 6
"""Streams up to which every order is weighed; beyond, each step takes what leaves fewest."""

MOST_IN_PIPELINE = 5
"""The same for pipelines, which have one order of all streams."""


def best_orders(*ways: Joined) -> tuple[tuple[int, ...], ...]:
    """Per stream, the order in which its new tuples meet the others at the least work.

    Args:
        ways: the join; under EITHER WAY, both.
    """
    return tuple(_best_order(ways, start) for start in ways[0].streams)


def _best_order(ways: Sequence[Joined], start: int) -> tuple[int, ...]:
    """The order with the fewest combinations on the way; of equals the first in FROM."""
    others = [stream for stream in ways[0].streams if stream != start]
    if len(others) < MOST_ORDERED:
        return min(permutations(others), key=lambda order: _effort(ways, start, order))
    chosen: list[int] = []
    while others:
        added = min(others, key=lambda one: _effort(ways, start, [*chosen, one]))
        chosen.append(added)
        others.remove(added)
    return tuple(chosen)


def _effort(ways: Sequence[Joined], start: int, order: Sequence[int]) -> float:
    work = Work()
    for joined in ways:
        work += backward(joined, start, order, is_hashed=True)
    return work.lookups + work.touched + work.scanned + work.found


def best_pipeline(
    joined: Joined, cost: Callable[[Work], float], *, is_hashed: bool
) -> tuple[int, ...]:
    """The order of all streams, from the bottom of a pipeline to its top, that costs least.

    By hash every level has a key, if some order has one at each.

    Args:
        joined: the streams.
        cost: what some work takes.
        is_hashed: whether levels look tuples up by their keys.
    """
    if len(joined.rates) > MOST_IN_PIPELINE:
        found = [(start, *_best_order([joined], start)) for start in joined.streams]
    else:
        found = list(permutations(joined.streams))
    if is_hashed:
        found = [order for order in found if _is_keyed(joined, order)] or found
    return min(found, key=lambda order: cost(pipeline(joined, order, is_hashed=is_hashed)))


def _is_keyed(joined: Joined, order: Sequence[int]) -> bool:
    """Whether each stream shares a key with those before it."""
    return all(has_key(joined, order[:at], order[at]) for at in range(1, len(order)))
