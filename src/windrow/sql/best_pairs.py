"""Bestmatch joins that say what is best now: over windows of their own, and plain ones.

    FROM l [RANGE w] LEFT OUTER BESTMATCH JOIN r [RANGE w] ON ..     the best pairs of those alive
    FROM l BESTMATCH JOIN r ON .. WHERE abs(l.ts - r.ts) <= ..       the best pairs so far

Both are changelogs. The candidates are the pairs of a window join, and come, and go, with it; which
of them are best is a search above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from windrow.plan.nodes import (
    MINDIST,
    SUBSET,
    BestPairs,
    Dimension,
    Equality,
    Filter,
    Node,
    Range,
    WindowJoin,
)
from windrow.sql.refuse import unsupported
from windrow.sql.scope import Scope
from windrow.sql.spans import span_of

PLAIN = "plain"
LEFT, RIGHT = 0, 1

_SIDES = {PLAIN: (), "left outer": (LEFT,), "right outer": (RIGHT,), "full outer": (LEFT, RIGHT)}


def says_what_is_best_now(join: exp.Join, items: Sequence[exp.Expr]) -> bool:
    """Whether a bestmatch join, of these items of FROM, is a changelog."""
    return not join.args.get("side") or any("stream_window" in item.meta for item in items)


def refuse_one_window(scope: Scope) -> None:
    """Refuses a window of its own for one side of a bestmatch join alone."""
    with_one = [source for source in scope.sources if source.range_ticks is not None]
    if len(with_one) != 1:
        return
    (one,) = with_one
    other = next(source for source in scope.sources if source is not one)
    raise unsupported(
        "bestmatch-range",
        f"{one.alias} has a window of its own in a bestmatch join, {other.alias} has none",
        f"give both one, {other.alias} {one.range_text} for instance; or none, and bound the"
        " distance in time: WHERE abs(l.ts - r.ts) <= ..",
        one.span,
    )


def with_windows(inputs: Sequence[Node], scope: Scope) -> list[Node]:
    """The inputs with the windows of their sources, where these have some."""
    return [
        node if source.range_ticks is None else Range(node, source.range_ticks)
        for node, source in zip(inputs, scope.sources, strict=True)
    ]


def best_pairs(
    join: exp.Join,
    kind: str,
    pairs: WindowJoin,
    dimensions: Sequence[Dimension],
    filters: Filter | None,
    scope: Scope,
) -> BestPairs:
    """The search for the best pairs over the join that gives the candidates.

    Args:
        join: the join in the SQL.
        kind: its kind, as `plan.nodes.BestPairs` has it.
        pairs: the join of its inputs.
        dimensions: what pairs are compared by.
        filters: the join under further conditions on pairs, or None.
        scope: its two sources.
    """
    _refuse_orders(dimensions)
    of_columns = tuple(
        replace(d, is_time=False, eps=None) if d.is_time and d.order == MINDIST else d
        for d in dimensions
    )
    keys = [_keys(pairs.equalities, pairs.inputs[side]) for side in (LEFT, RIGHT)]
    groups = tuple(_group(side, pairs, of_columns, keys[side], scope) for side in _SIDES[kind])
    spread_by: tuple[str, ...] = ()
    if groups:
        spread_by = keys[_SIDES[kind][0]] or (groups[0] if len(groups) == 1 else ())
    return BestPairs(filters or pairs, kind, of_columns, groups or ((),), spread_by, span_of(join))


def refuse_unmatched(join: exp.Join, place: exp.Expr) -> None:
    """Refuses KEEP UNMATCHED, which waits for what is final."""
    raise unsupported(
        "keep-unmatched-of-now",
        "KEEP UNMATCHED is not supported in a bestmatch join that says what is best now",
        "leave it out; or leave the windows out, and bound the distance in time, for what is best"
        " for good",
        span_of(join if "keep_unmatched" in join.meta else place),
    )


def _group(
    side: int,
    pairs: WindowJoin,
    dimensions: Sequence[Dimension],
    keys: tuple[str, ...],
    scope: Scope,
) -> tuple[str, ...]:
    """The columns by which pairs have the same tuple of a side, or one with the same candidates.

    Tuples of equal time, keys and dimensions meet the same tuples, and match them as well.
    """
    source = scope.sources[side]
    if source.time is None:
        raise unsupported(
            "bestmatch-without-time-column",
            f"{source.alias} shows no event time, by which its tuples are told apart",
            "keep the event-time column in the SELECT of the derived table",
            source.span,
        )
    names = set(pairs.inputs[side].schema.names)
    compared = [name for d in dimensions for name in (d.left, d.right) if name in names]
    return tuple(dict.fromkeys([source.time, *keys, *compared]))


def _keys(equalities: Sequence[Equality], node: Node) -> tuple[str, ...]:
    names = set(node.schema.names)
    return tuple(name for e in equalities for name in (e.left, e.right) if name in names)


def _refuse_orders(dimensions: Sequence[Dimension]) -> None:
    """Refuses orders that compare pairs with one another, and give no number for each."""
    for dimension in dimensions:
        is_partial = dimension.function is not None and dimension.function.is_partial_order
        if dimension.order == SUBSET or is_partial:
            raise unsupported(
                "order-of-now",
                f"the order of {dimension.text} is not supported in a bestmatch join that says what"
                " is best now",
                "use MINDIST, YOUNGEST or a function that gives a number; or leave the windows out,"
                " and bound the distance in time, for what is best for good",
                dimension.span,
            )
