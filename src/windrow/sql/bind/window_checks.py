"""Refuses window graphs that cannot be answered, naming the streams and what to add."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.errors import PlanError, Span
from windrow.plan.windows import UNBOUNDED, WindowGraph
from windrow.sql.bind.scope import Scope

Places = Mapping[str, Span | None]
"""Where each stated bound stands in the SQL, by its text."""


def check_graph(graph: WindowGraph, scope: Scope, span: Span | None, places: Places) -> None:
    """Raises unless every ordered pair has a finite bound and some answer can exist.

    `span` is the place of the whole FROM.
    """
    time_type = scope.sources[0].time_type
    if not graph.stated:
        raise _self_join(scope, time_type, span) or _no_window(scope, time_type, span)
    check_contradiction(graph, span, places)
    components = graph.components()
    if len(components) > 1:
        groups = [[scope.sources[i].alias for i in group] for group in components]
        shown = " and ".join("{" + ", ".join(group) + "}" for group in groups)
        pair = (components[0][-1], components[1][0])
        raise _self_join(scope, time_type, span, graph) or PlanError(
            "windows-not-connected",
            f"no window connects {shown}",
            reason="without a bound between them, state would grow for ever",
            hint=f"add a window, for instance {_example(scope, *pair, time_type)}",
            span=span,
        )
    unbounded = graph.unbounded_pairs()
    if unbounded:
        place = next(
            (places.get(b.text) for b in graph.stated if {b.left, b.right} == set(unbounded[0])),
            None,
        )
        raise _self_join(scope, time_type, span, graph) or _one_sided(
            scope, *unbounded[0], time_type, place or span
        )


def check_reversed(graph: WindowGraph, span: Span | None, places: Places) -> None:
    """Raises where the reversed windows of EITHER WAY leave no answer.

    Nothing else can be wrong with them alone: a DWINDOW bounds the same pair at both ends whichever
    way it goes, so that they connect and bound what the windows as written do.
    """
    try:
        check_contradiction(graph, span, places)
    except PlanError as error:
        raise PlanError(
            error.condition,
            f"{error.sentence} once the DWINDOWs are reversed",
            reason=error.reason,
            hint="leave EITHER WAY out, or widen one of them",
            span=error.span,
        ) from error


def check_contradiction(graph: WindowGraph, span: Span | None, places: Places) -> None:
    """Raises where no tuples at all can satisfy the bounds."""
    cycle = negative_cycle(graph)
    if not cycle:
        return
    names = [graph.streams[i] for i in cycle]
    shown = ", ".join(names[:-1]) + f" and {names[-1]}"
    involved = [b.text for b in graph.stated if b.left in cycle and b.right in cycle and b.text]
    raise PlanError(
        "contradicting-windows",
        f"the windows between {shown} contradict each other",
        reason="no tuples can satisfy " + " and ".join(dict.fromkeys(involved)),
        hint="widen one of them, or turn its direction around",
        span=places.get(involved[-1]) or span if involved else span,
    )


def _no_window(scope: Scope, time_type: str, span: Span | None) -> PlanError:
    names = " and ".join(source.alias for source in scope.sources)
    return PlanError(
        "unbounded-state",
        f"the join of {names} has no window",
        reason="without a bound on time, state would grow for ever",
        hint=f"add a window at the end, for instance  WINDOW = {example_length(time_type)}",
        span=span,
    )


def _self_join(
    scope: Scope, time_type: str, span: Span | None, graph: WindowGraph | None = None
) -> PlanError | None:
    """The error for two aliases of one stream without a window between them, if there are such."""
    for a, left in enumerate(scope.sources):
        for b, right in enumerate(scope.sources[:a]):
            bounded = graph is not None and max(graph.upper[a][b], graph.upper[b][a]) < UNBOUNDED
            if not left.stream or left.stream != right.stream or bounded:
                continue
            return PlanError(
                "self-join-without-window",
                f"{right.alias} and {left.alias} are both {left.stream}, with no window between"
                " them",
                reason="each tuple would meet every other tuple of its own stream, for ever",
                hint=f"add {_example(scope, b, a, time_type)}",
                span=left.span or span,
            )
    return None


def _one_sided(scope: Scope, a: int, b: int, time_type: str, span: Span | None) -> PlanError:
    first, then = scope.sources[a], scope.sources[b]
    if first.time and then.time:
        add = f"AND {then.time} <= {first.time} + {example_length(time_type)}"
    else:
        add = _example(scope, a, b, time_type)
    return PlanError(
        "unbounded-window",
        f"tuples of {then.alias} may come any time after those of {first.alias}",
        reason=f"every tuple of {first.alias} would be kept for ever",
        hint=f"add an upper bound, for instance  {add}",
        span=span,
    )


def negative_cycle(graph: WindowGraph) -> list[int]:
    """The streams of one cycle of bounds that sums below zero, in FROM order; none: [].

    Bellman-Ford: after as many rounds as there are streams, only a negative cycle still improves.
    """
    size = len(graph.streams)
    edges = [
        (a, b, graph.direct[a][b])
        for a in range(size)
        for b in range(size)
        if a != b and graph.direct[a][b] < UNBOUNDED
    ]
    distance, before = [0] * size, [-1] * size
    improved = -1
    for _ in range(size):
        improved = -1
        for a, b, upper in edges:
            if distance[a] + upper < distance[b]:
                distance[b], before[b], improved = distance[a] + upper, a, b
    if improved < 0:
        return []
    on_cycle = improved
    for _ in range(size):
        on_cycle = before[on_cycle]
    cycle, stream = {on_cycle}, before[on_cycle]
    while stream != on_cycle:
        cycle.add(stream)
        stream = before[stream]
    return sorted(cycle)


def _example(scope: Scope, a: int, b: int, time_type: str) -> str:
    left, right = scope.sources[a].alias, scope.sources[b].alias
    return f"WINDOW ({left}, {right}) = {example_length(time_type)}"


def example_length(time_type: str) -> str:
    """A length of time to show in a hint."""
    return {"bigint": "10", "date": "INTERVAL '7' DAYS"}.get(time_type, "INTERVAL '10' MINUTES")
