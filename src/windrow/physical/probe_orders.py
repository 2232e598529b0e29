"""In which order the inputs of a window join are met, and when each predicate can be tested.

The operators follow these functions, and EXPLAIN shows them.

A left-deep pipeline takes its streams as the plan says, if it does. Else along a path of windows, if
there is one: each level then needs the period of the last stream only. By hash, every level must have a
key then. Otherwise as BEW's probes go: by keys, then by the narrowest window.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from windrow.physical.algorithms import HASH
from windrow.plan.exprs import Comparison, Side
from windrow.plan.windows import WindowGraph

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin


def probe_order(node: MultiJoin, start: int) -> list[int]:
    """The other inputs in the order in which a new tuple of input `start` meets them."""
    chosen = [start]
    while len(chosen) < len(node.inputs):
        chosen.append(next_input(node, chosen))
    return chosen[1:]


def next_input(node: MultiJoin, chosen: Sequence[int]) -> int:
    """The input to meet after those chosen: the one that leaves fewest combinations.

    As `node.orders` says, if it does. Else one that a key class connects to those chosen, if there
    is any; else one that a predicate does; else any. Among these the one with the narrowest window,
    then the first in FROM.
    """
    if node.orders:
        return node.orders[chosen[0]][len(chosen) - 1]
    upper = node.graph.upper

    def preference(candidate: int) -> tuple[bool, bool, int, int]:
        width = min(upper[i][candidate] + upper[candidate][i] for i in chosen)
        is_alone = not _shares_key(node, chosen, candidate)
        return is_alone, not first_ready(node, chosen, candidate), width, candidate

    return min(set(range(len(node.inputs))) - set(chosen), key=preference)


def first_ready(node: MultiJoin, chosen: Collection[int], added: int) -> tuple[int, ...]:
    """The predicates that can be tested once `added` joins `chosen`, and could not before.

    A predicate is given by its number. One that reads no column can be tested on the first input.
    """
    before, now = set(chosen), {*chosen, added}
    return tuple(
        number
        for number, inputs in enumerate(predicate_inputs(node))
        if inputs <= now and not (before and inputs <= before)
    )


def predicate_inputs(node: MultiJoin) -> list[frozenset[int]]:
    """The inputs that each predicate reads."""
    owner = {name: port for port, child in enumerate(node.inputs) for name in child.schema.names}
    return [frozenset(owner[name] for name in p.columns) for p in node.predicates]


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


def ordered_pairs(node: MultiJoin) -> list[OrderedPair]:
    """The comparisons that a sweep tests as it meets tuples: all that order values of two inputs."""
    owner = {name: port for port, child in enumerate(node.inputs) for name in child.schema.names}
    found = []
    for number, predicate in enumerate(node.predicates):
        for one in predicate.comparisons:
            sides = [(owner[side.column], side) for side in (one.left, one.right)]
            if one.operator == "<>" or sides[0][0] == sides[1][0]:
                continue
            lesser, greater = sides if one.operator.startswith("<") else reversed(sides)
            is_strict = not one.operator.endswith("=")
            found.append(OrderedPair(number, one, lesser, greater, is_strict))
    return found


def pipeline_order(node: MultiJoin) -> tuple[int, ...]:
    """The inputs of a join from the bottom of the pipeline to its top."""
    if node.orders:
        return node.orders[0]
    graph = node.graph
    if graph.form in {"binary", "path"}:
        order = path_order(graph)
        if all(graph.upper[a][b] <= 0 for a, b in pairwise(order)):
            order.reverse()  # directed windows lead the other way
        if node.method != HASH or _keys_connect(node, order):
            return tuple(order)
    return (0, *probe_order(node, 0))


def is_along_path(node: MultiJoin, order: tuple[int, ...]) -> bool:
    """Whether every stated window joins two inputs that follow one another in the order."""
    steps = {(min(a, b), max(a, b)) for a, b in pairwise(order)}
    return node.alternative is None and node.graph.stated_pairs <= steps


def path_order(graph: WindowGraph) -> list[int]:
    """The streams of a path from its end that comes first in FROM to the other one."""
    pairs = graph.stated_pairs
    ends = [stream for pair in pairs for stream in pair]
    order = [min(stream for stream in ends if ends.count(stream) == 1)]
    while len(order) <= len(pairs):
        order.append(
            next(
                a + b - order[-1]
                for a, b in pairs
                if order[-1] in (a, b) and a + b - order[-1] not in order
            )
        )
    assert all((min(a, b), max(a, b)) in pairs for a, b in pairwise(order))
    return order


def _keys_connect(node: MultiJoin, order: list[int]) -> bool:
    """Whether each input shares a key with those before it."""
    return all(_shares_key(node, order[:n], order[n]) for n in range(1, len(order)))


def _shares_key(node: MultiJoin, chosen: Sequence[int], candidate: int) -> bool:
    return any(
        candidate in key.inputs and not set(chosen).isdisjoint(key.inputs) for key in node.classes
    )
