"""In which order a left-deep pipeline takes its streams.

a - b - c - d, a path            a, b, c, d: each level needs the window of the last stream only
anything else                    by keys, then the narrowest window, as BEW's probes
"""

from __future__ import annotations

from itertools import pairwise

from windrow.physical.routes import probe_order
from windrow.physical.specs import WJoin
from windrow.plan.windows import WindowGraph


def pipeline_order(spec: WJoin) -> tuple[int, ...]:
    """The inputs of a join from the bottom of the pipeline to its top."""
    along = path_order(spec.graph)
    if along is not None and (not spec.classes or _keys_connect(spec, along)):
        return tuple(along)
    return (0, *probe_order(spec, 0))


def is_along_path(spec: WJoin, order: tuple[int, ...]) -> bool:
    """Whether every stated window joins two inputs that follow one another in the order."""
    steps = {(min(a, b), max(a, b)) for a, b in pairwise(order)}
    return spec.alternative is None and spec.graph.stated_pairs <= steps


def path_order(graph: WindowGraph) -> list[int] | None:
    """The streams along a path of windows; None where the windows form none.

    It begins at the end that directed windows lead away from; if they do not say, at the one that
    comes first in FROM.
    """
    pairs = graph.stated_pairs
    ends = [stream for pair in pairs for stream in pair]
    if graph.form not in {"binary", "path"} or not pairs:
        return None
    order = [min(stream for stream in ends if ends.count(stream) == 1)]
    while len(order) <= len(pairs):
        order.append(
            next(
                a + b - order[-1]
                for a, b in sorted(pairs)
                if order[-1] in (a, b) and a + b - order[-1] not in order
            )
        )
    leads_back = all(graph.upper[a][b] <= 0 for a, b in pairwise(order))
    return order[::-1] if leads_back else order


def _keys_connect(spec: WJoin, order: list[int]) -> bool:
    """Whether each input shares a key with those before it."""
    return all(_shares_key(spec, order[:n], order[n]) for n in range(1, len(order)))


def _shares_key(spec: WJoin, chosen: list[int], candidate: int) -> bool:
    return any(
        candidate in key.inputs and not set(chosen).isdisjoint(key.inputs) for key in spec.classes
    )
