"""In which order a new tuple of a window join meets the other inputs, and by what.

Starting at input s, each step adds the input that narrows combinations most (`next_input`). The
step probes by all classes that the input shares with those chosen, and tests the predicates that
it makes testable.

    a.x = b.x AND b.y = c.y, starting at c:    b by y (from c), then a by x (from b)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.routes import first_ready, next_input
from windrow.plan.windows import WindowGraph
from windrow.schema import MAX_TICK


@dataclass(frozen=True, eq=False)
class Step:
    """One input to add.

    Attributes:
        input: the input.
        classes: the key classes to probe by.
        sources: per class, which of the inputs chosen so far gives the key (position in order).
        reach_back: per input i chosen so far, the largest t(i) - t(this).
        reach_on: per input i chosen so far, the largest t(this) - t(i).
        is_strict: of rows that came in the same push, only those before the start tuple count;
            whether equal times are after it (see `BewJoinOp`).
        predicates: those that can be tested once the input is there (by number).
    """

    input: int
    classes: tuple[int, ...]
    sources: tuple[int, ...]
    reach_back: NDArray[np.int64]
    reach_on: NDArray[np.int64]
    is_strict: bool
    predicates: tuple[int, ...] = ()


@dataclass(frozen=True)
class Route:
    """The steps from one start input.

    Attributes:
        start: the input whose new tuples are extended.
        steps: the other inputs, one after the other.
        keys: per input chosen, the classes that later steps take from it.
        predicates: those that can be tested on the start tuple alone (by number).
        leaves_out: windows whose combinations other routes give (EITHER WAY), to be left out here.
    """

    start: int
    steps: tuple[Step, ...]
    keys: tuple[tuple[int, ...], ...]
    leaves_out: WindowGraph | None = None
    predicates: tuple[int, ...] = ()

    @property
    def order(self) -> tuple[int, ...]:
        """The inputs as they are chosen, the start first."""
        return (self.start, *(step.input for step in self.steps))


def routes_of(node: MultiJoin) -> list[Route]:
    """A route from every input; under EITHER WAY one for each way.

    Tuples at one instant may meet the windows both ways. Such combinations come by the first way;
    the routes of the second leave them out.
    """
    starts = range(len(node.inputs))
    routes = [route_from(node, start) for start in starts]
    if node.alternative is None:
        return routes
    turned = replace(node, graph=node.alternative)
    others = [route_from(turned, start) for start in starts]
    return routes + [replace(route, leaves_out=node.graph) for route in others]


def route_from(node: MultiJoin, start: int) -> Route:
    """The steps that complete a combination from a tuple of input `start`."""
    chosen = [start]
    steps = []
    while len(chosen) < len(node.inputs):
        step = _step(node, chosen)
        steps.append(step)
        chosen.append(step.input)
    keys = [
        tuple(
            sorted(
                {
                    key
                    for step in steps
                    for key, source in zip(step.classes, step.sources, strict=True)
                    if source == position
                }
            )
        )
        for position in range(len(chosen))
    ]
    return Route(start, tuple(steps), tuple(keys), predicates=first_ready(node, (), start))


def _step(node: MultiJoin, chosen: list[int]) -> Step:
    upper = node.graph.upper
    added = next_input(node, chosen)
    classes = _shared(node, chosen, added)
    return Step(
        input=added,
        classes=classes,
        sources=tuple(
            next(at for at, i in enumerate(chosen) if i in node.classes[key].inputs)
            for key in classes
        ),
        reach_back=_ticks([upper[added][i] for i in chosen]),
        reach_on=_ticks([upper[i][added] for i in chosen]),
        is_strict=added > chosen[0],
        predicates=first_ready(node, chosen, added),
    )


def _shared(node: MultiJoin, chosen: list[int], candidate: int) -> tuple[int, ...]:
    """The classes of a candidate that an input chosen before has too."""
    return tuple(
        at
        for at, key in enumerate(node.classes)
        if candidate in key.inputs and any(i in key.inputs for i in chosen)
    )


def _ticks(bounds: list[int]) -> NDArray[np.int64]:
    return np.array([max(-MAX_TICK, min(MAX_TICK, bound)) for bound in bounds], np.int64)


def only_one_way(route: Route, times: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Which complete combinations are the route's to give; None for all.

    Args:
        route: how they were found.
        times: the event times, one line per input in the order of the route.
    """
    if route.leaves_out is None:
        return None
    meets = np.ones(times.shape[1], np.bool_)
    line = {port: times[at] for at, port in enumerate(route.order)}
    for bound in route.leaves_out.stated:
        # No overflow: the route's own windows have bounded every difference.
        distance = line[bound.right] - line[bound.left]
        meets &= (distance >= -bound.lo) & (distance <= bound.hi)
    return None if not meets.any() else np.flatnonzero(~meets)
