"""In which order a left-deep pipeline takes its streams.

As the plan says, if it does. Else along a path of windows, if there is one: each level then needs the period of the last stream
only. By hash, every level must have a key then. Otherwise as BEW's probes go: by keys, then by the
narrowest window.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from windrow.physical.algorithms import HASH
from windrow.physical.routes import probe_order
from windrow.plan.windows import WindowGraph

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin


def pipeline_order(spec: MultiJoin) -> tuple[int, ...]:
    """The inputs of a join from the bottom of the pipeline to its top."""
    if spec.orders:
        return spec.orders[0]
    graph = spec.graph
    if graph.form in {"binary", "path"}:
        order = path_order(graph)
        if all(graph.upper[a][b] <= 0 for a, b in pairwise(order)):
            order.reverse()  # directed windows lead the other way
        if spec.method != HASH or _keys_connect(spec, order):
            return tuple(order)
    return (0, *probe_order(spec, 0))


def is_along_path(spec: MultiJoin, order: tuple[int, ...]) -> bool:
    """Whether every stated window joins two inputs that follow one another in the order."""
    steps = {(min(a, b), max(a, b)) for a, b in pairwise(order)}
    return spec.alternative is None and spec.graph.stated_pairs <= steps


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


def _keys_connect(spec: MultiJoin, order: list[int]) -> bool:
    """Whether each input shares a key with those before it."""
    return all(_shares_key(spec, order[:n], order[n]) for n in range(1, len(order)))


def _shares_key(spec: MultiJoin, chosen: list[int], candidate: int) -> bool:
    return any(
        candidate in key.inputs and not set(chosen).isdisjoint(key.inputs) for key in spec.classes
    )
