"""In which order the inputs of a window join are met, and when each predicate can be tested.

The operators follow these functions, and EXPLAIN shows them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.plan.exprs import Comparison, Side

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin


def probe_order(spec: MultiJoin, start: int) -> list[int]:
    """The other inputs in the order in which a new tuple of input `start` meets them."""
    chosen = [start]
    while len(chosen) < len(spec.inputs):
        chosen.append(next_input(spec, chosen))
    return chosen[1:]


def next_input(spec: MultiJoin, chosen: Sequence[int]) -> int:
    """The input to meet after those chosen: the one that leaves fewest combinations.

    As `spec.orders` says, if it does. Else one that a key class connects to those chosen, if there
    is any; else one that a predicate does; else any. Among these the one with the narrowest window,
    then the first in FROM.
    """
    if spec.orders:
        return spec.orders[chosen[0]][len(chosen) - 1]
    upper = spec.graph.upper

    def preference(candidate: int) -> tuple[bool, bool, int, int]:
        shares_key = any(
            candidate in key.inputs and not set(chosen).isdisjoint(key.inputs)
            for key in spec.classes
        )
        width = min(upper[i][candidate] + upper[candidate][i] for i in chosen)
        return not shares_key, not first_ready(spec, chosen, candidate), width, candidate

    return min(set(range(len(spec.inputs))) - set(chosen), key=preference)


def first_ready(spec: MultiJoin, chosen: Collection[int], added: int) -> tuple[int, ...]:
    """The predicates that can be tested once `added` joins `chosen`, and could not before.

    A predicate is given by its number. One that reads no column can be tested on the first input.
    """
    before, now = set(chosen), {*chosen, added}
    return tuple(
        number
        for number, inputs in enumerate(predicate_inputs(spec))
        if inputs <= now and not (before and inputs <= before)
    )


def predicate_inputs(spec: MultiJoin) -> list[frozenset[int]]:
    """The inputs that each predicate reads."""
    owner = {name: port for port, child in enumerate(spec.inputs) for name in child.schema.names}
    return [frozenset(owner[name] for name in p.columns) for p in spec.predicates]


@dataclass(frozen=True)
class OrderedPair:
    """A comparison that says which of two inputs has the lesser value.

    Attributes:
        predicate: the number of the predicate that it is a part of.
        comparison: as it was written.
        lesser: the input of the lesser value, and its side of the comparison.
        greater: the other one.
        is_strict: whether equal values do not pass.
    """

    predicate: int
    comparison: Comparison
    lesser: tuple[int, Side]
    greater: tuple[int, Side]
    is_strict: bool


def ordered_pairs(spec: MultiJoin) -> list[OrderedPair]:
    """The comparisons that a sweep tests as it meets tuples: all that order values of two inputs."""
    owner = {name: port for port, child in enumerate(spec.inputs) for name in child.schema.names}
    found = []
    for number, predicate in enumerate(spec.predicates):
        for one in predicate.comparisons:
            sides = [(owner[side.column], side) for side in (one.left, one.right)]
            if one.operator == "<>" or sides[0][0] == sides[1][0]:
                continue
            lesser, greater = sides if one.operator.startswith("<") else reversed(sides)
            is_strict = not one.operator.endswith("=")
            found.append(OrderedPair(number, one, lesser, greater, is_strict))
    return found
