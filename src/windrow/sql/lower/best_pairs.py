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

from windrow.errors import PlanError
from windrow.plan.exprs import EVENT_TIME, Named
from windrow.plan.nodes.base import Equality, Node
from windrow.plan.nodes.best_pairs import BestPairs
from windrow.plan.nodes.bestmatch_join import MINDIST, Dimension
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.range import Range
from windrow.plan.nodes.window_join import WindowJoin
from windrow.sql.bind.keys import free_name, with_columns
from windrow.sql.bind.scope import Scope
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import span_of

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
    ).at(one.span)


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
    times: tuple[str, ...],
    *,
    keep_unmatched: bool,
) -> BestPairs:
    """The search for the best pairs over the join that gives the candidates.

    Args:
        join: the join in the SQL.
        kind: its kind, as `plan.nodes.BestPairs` has it.
        pairs: the join of its inputs.
        dimensions: what pairs are compared by.
        filters: the join under further conditions on pairs, or None.
        times: of either input, the column that has its event time.
        keep_unmatched: whether the join has rows without a match, too.
    """
    of_columns = tuple(
        replace(d, is_time=False, eps=None) if d.is_time and d.order == MINDIST else d
        for d in dimensions
    )
    keys = [_keys(pairs.equalities, pairs.inputs[side]) for side in (LEFT, RIGHT)]
    groups = tuple(
        _group(pairs.inputs[side], times[side], keys[side], of_columns) for side in _SIDES[kind]
    )
    spread_by: tuple[str, ...] = ()
    if groups:
        spread_by = keys[_SIDES[kind][0]] or (groups[0] if len(groups) == 1 else ())
    spread_else = keys[RIGHT] if keep_unmatched and len(groups) > 1 else ()
    return BestPairs(
        filters or pairs,
        kind,
        of_columns,
        groups or ((),),
        spread_by,
        span_of(join),
        times if keep_unmatched else (),
        spread_else,
    )


def with_times(nodes: Sequence[Node], scope: Scope) -> tuple[list[Node], tuple[str, ...]]:
    """The inputs, and of each the column that has its event time; one is added where none has."""
    timed, names = [], []
    for node, source in zip(nodes, scope.sources, strict=True):
        name = source.time or free_name(f"{source.alias}.$time", node.schema)
        names.append(name)
        timed.append(node if source.time else with_columns(node, [Named(name, EVENT_TIME)]))
    return timed, tuple(names)


def refuse_unmatched(join: exp.Join, place: exp.Expr) -> None:
    """Refuses KEEP UNMATCHED of the plain join, which is about pairs and not about tuples."""
    raise PlanError(
        "keep-unmatched-of-plain",
        "KEEP UNMATCHED says nothing in a plain BESTMATCH JOIN",
        reason="it looks for the best of all pairs, not for those of each tuple: most tuples are in"
        " none of them, with a candidate or without",
        hint="say whose tuples are kept: LEFT, RIGHT or FULL OUTER BESTMATCH JOIN",
    ).at(span_of(join if "keep_unmatched" in join.meta else place))


def _group(
    node: Node, time: str, keys: tuple[str, ...], dimensions: Sequence[Dimension]
) -> tuple[str, ...]:
    """The columns by which pairs have the same tuple of an input, or one with the same candidates.

    Tuples of equal time, keys and dimensions meet the same tuples, and match them as well.
    """
    names = set(node.schema.names)
    compared = [name for d in dimensions for name in (d.left, d.right) if name in names]
    return tuple(dict.fromkeys([time, *keys, *compared]))


def _keys(equalities: Sequence[Equality], node: Node) -> tuple[str, ...]:
    names = set(node.schema.names)
    return tuple(name for e in equalities for name in (e.left, e.right) if name in names)
