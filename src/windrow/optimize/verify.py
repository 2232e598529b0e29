"""Refuses plans that would keep state for ever, or that cannot have an answer.

The binder refuses most of these with their place in the SQL; here they are refused however the
plan was built.
"""

from __future__ import annotations

from windrow.errors import PlanError
from windrow.optimize.needs import is_stateful
from windrow.plan.asof import AsofJoin
from windrow.plan.count_windows import CountWindows
from windrow.plan.nodes import (
    BestmatchJoin,
    BestPairs,
    ChangeFeed,
    Filter,
    NewestRows,
    Node,
    Project,
    Range,
    Scan,
    SetOperation,
    TableJoin,
    WindowAggregate,
    WindowJoin,
)
from windrow.plan.walk import walk
from windrow.plan.windows import UNBOUNDED, WindowGraph


def verify(plan: Node) -> None:
    """Raises a PlanError for the first node, from the top, that cannot run within bounds."""
    for node in walk(plan):
        if isinstance(node, WindowJoin):
            _verify_join(node)
        elif isinstance(node, WindowAggregate):
            _verify_aggregate(node)
        elif isinstance(node, SetOperation):
            _verify_set_operation(node)
        elif isinstance(node, BestmatchJoin):
            _verify_bestmatch(node)
        elif isinstance(node, Scan):
            _verify_scan(node)
        if is_stateful(node):
            _verify_prompt(node)


def rows_end(node: Node) -> bool:
    """Whether every row of the node stops being alive, or is taken back, some time."""
    if isinstance(node, Range | ChangeFeed | NewestRows | WindowAggregate | BestPairs):
        return True
    if isinstance(node, Filter | Project | TableJoin):
        return rows_end(node.input)
    if isinstance(node, SetOperation):
        return node.kind != "union all" or all(map(rows_end, node.inputs))
    if isinstance(node, WindowJoin):
        # A combination ends with its first tuple; a row that comes alone, when it does itself.
        alone = (0,) if node.kind == "semi" else node.preserved
        return all(rows_end(node.inputs[i]) for i in alone) and any(map(rows_end, node.inputs))
    return False


def _verify_join(join: WindowJoin) -> None:
    if join.counts is not None:
        _verify_counts(join, join.counts)
        return
    if join.is_snapshot:
        _verify_snapshot(join)
        return
    _verify_windows(join, join.graph)
    if join.alternative is not None:
        _verify_windows(join, join.alternative)


def _verify_snapshot(join: WindowJoin) -> None:
    """Rows are kept until they end: each must."""
    _verify_consistent(join, join.graph)
    for alias, node in zip(join.aliases, join.inputs, strict=True):
        if not rows_end(node):
            raise PlanError(
                "unbounded-state",
                f"the join of {_listed(join.aliases)} keeps tuples of {alias} for ever",
                reason=f"no window says when a tuple of {alias} leaves",
                hint=f"give it one, for instance {alias} [RANGE INTERVAL '1' HOUR]",
                span=join.span,
            )


def _verify_consistent(join: WindowJoin, graph: WindowGraph) -> None:
    if graph.is_contradictory:
        raise PlanError(
            "contradicting-windows",
            f"no tuples of {_listed(graph.streams)} can satisfy all windows at once",
            reason="together the bounds ask for a time difference below its own lower end",
            hint="widen or drop one of the windows",
            span=join.span,
        )


def _verify_windows(join: WindowJoin, graph: WindowGraph) -> None:
    names = graph.streams
    _verify_consistent(join, graph)
    unbounded = graph.unbounded_pairs()
    if unbounded:
        first, second = (names[s] for s in unbounded[0])
        raise PlanError(
            "unbounded-state",
            f"the join of {_listed(names)} keeps tuples of {first} for ever",
            reason=f"no window says how long after a tuple of {first} one of {second} may come",
            hint=f"add WINDOW ({first}, {second}) = INTERVAL '1' HOUR, or the bound that you mean",
            span=join.span,
        )


def _verify_counts(join: WindowJoin, counts: CountWindows) -> None:
    if counts.within is not None:
        return
    for alias, window in zip(join.aliases, counts.own, strict=True):
        if window.rows is None and window.ticks is None:
            raise PlanError(
                "unbounded-state",
                f"the join of {_listed(join.aliases)} keeps tuples of {alias} for ever",
                reason=f"no window says which tuples of {alias} are there",
                hint=f"give it one, for instance {alias} [ROWS 100]",
                span=join.span,
            )


def _verify_aggregate(node: WindowAggregate) -> None:
    if not rows_end(node.input):
        raise PlanError(
            "unbounded-state",
            "the aggregate keeps its rows for ever",
            reason="no window says when a row leaves it",
            hint="give its streams a window, for instance sales [RANGE INTERVAL '1' HOUR]",
            span=node.span,
        )


def _verify_set_operation(node: SetOperation) -> None:
    if node.kind != "union all" and not all(map(rows_end, node.inputs)):
        raise PlanError(
            "unbounded-state",
            f"{node.kind.upper()} keeps its rows for ever",
            reason="no window says when a row leaves it",
            hint="give its streams a window, for instance sales [RANGE INTERVAL '1' HOUR]",
            span=node.span,
        )


def _verify_bestmatch(node: BestmatchJoin) -> None:
    if max(node.lo, node.hi) >= UNBOUNDED:
        raise PlanError(
            "unbounded-state",
            "the bestmatch join keeps tuples for ever",
            reason="no bound on time says which tuples may still become a pair",
            hint="bound it, for instance WHERE abs(l.ts - r.ts) <= INTERVAL '10' MINUTES",
            span=node.span,
        )
    if node.lo + node.hi < 0:
        raise PlanError(
            "contradicting-windows",
            "no pair of the bestmatch join can satisfy its bounds on time",
            reason="the lower end lies above the upper one",
            hint="widen or drop one of the bounds",
            span=node.span,
        )


def _verify_prompt(node: Node) -> None:
    """What keeps rows waits for those below it: each must come within a bound."""
    for below in walk(node):
        if below is not node and isinstance(below, AsofJoin) and not below.has_bounded_delay:
            left, right = below.aliases
            raise PlanError(
                "unbounded-delay",
                f"what lies above the as-of join of {left} and {right} would wait for ever",
                reason=f"a row of {left} waits for a match in {right} that may never come, and keeps"
                " all that follows it",
                hint="bound the wait: TOLERANCE INTERVAL '1' HOUR, or the time that you mean",
                span=below.span,
            )


def _verify_scan(scan: Scan) -> None:
    if scan.stream.time is None:
        raise PlanError(
            "no-time-column",
            f"the stream {scan.stream.name} has no event time",
            reason="windows are measured on event time",
            hint=f"register it with its time column: stream({scan.stream.name!r}, .., time=..)",
            span=scan.span,
        )


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
