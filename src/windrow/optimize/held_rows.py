"""How many tuples the operators of a plan hold once its windows are full, by rates and different keys.

    SlidingAggregate sum(x)      tpa: the pairs alive           nta: none, the sum alone
      join a.k = b.k             the tuples of both windows     the same: pairs leave with them
        a [RANGE 10 min]
        b [RANGE 5 min]

Of two windows with n and m tuples alive, n m / d pairs are alive where keys take d different values.
What is kept per group or per different row is no tuple, and the same by either scheduling.
"""

from __future__ import annotations

from math import prod

from windrow.optimize.numbers import Numbers
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.plan.statistics import ASSUMED


def held_rows(node: PhysicalNode, numbers: Numbers) -> float | None:
    """Tuples that a plan holds on average; None where its numbers do not tell."""
    parts = [held_rows(child, numbers) for child in node.inputs]
    held = node.held_inputs
    own = None if held is None else _total([_alive(child, numbers) for child in held])
    return _total([own, *parts])


def _alive(node: PhysicalNode, numbers: Numbers) -> float | None:
    """Rows of a node that are alive at an instant."""
    if node.whole_inputs:
        return _total([_alive(child, numbers) for child in node.whole_inputs])
    if isinstance(node, MultiJoin):
        return _alive_pairs(node, numbers)
    if len(node.scans) > 1:  # a selection over a join: what passes it is not known
        return None
    length, rate = node.alive_ticks, numbers.rate(node)
    return None if length is None or rate is None else rate.value * length


def _alive_pairs(join: MultiJoin, numbers: Numbers) -> float | None:
    """Combinations of a join that are alive: those of equal keys, of all that could be."""
    if join.predicates or not join.joins_what_is_alive:
        return None
    alive = [_alive(child, numbers) for child in join.inputs]
    apart = 1.0
    for own in join.classes:
        keys = [numbers.different(join.inputs[at], str(own.columns[at])) for at in own.inputs]
        if any(figure.source == ASSUMED for figure in keys):
            return None
        apart *= max(figure.value for figure in keys) ** (len(keys) - 1)
    known = [rows for rows in alive if rows is not None]
    return prod(known) / max(apart, 1.0) if len(known) == len(alive) else None


def _total(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
