"""A logical plan as stable text: numbered lines, one per node, as the user wrote things."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from windrow.plan.durations import show_ticks
from windrow.plan.exprs import Expr, Named
from windrow.plan.nodes import (
    Aggregate,
    BestmatchJoin,
    Dimension,
    Equality,
    Filter,
    Node,
    Project,
    Query,
    Range,
    Scan,
    WindowAggregate,
    WindowJoin,
    children,
)

_OR = re.compile(r"\bor\b", re.IGNORECASE)


def logical_lines(query: Query) -> list[str]:
    """The plan of a query, from the answer down to the streams."""
    rows = [(0, f"Emit {'changelog' if query.is_changelog else 'append'}")]
    rows += _nodes(query.root, 1, query.time_type)
    return [f"{number:02}) {'  ' * depth}{text}" for number, (depth, text) in enumerate(rows, 1)]


def _nodes(node: Node, depth: int, time_type: str) -> Iterable[tuple[int, str]]:
    yield depth, _node(node, time_type)
    for child in children(node):
        yield from _nodes(child, depth + 1, time_type)


def _node(node: Node, time_type: str) -> str:
    if isinstance(node, WindowJoin):
        windows = ", ".join(dict.fromkeys(bound.text for bound in node.graph.stated if bound.text))
        return f"WindowJoin {show_equalities(node.equalities)}{'; ' if windows else ''}{windows}"
    if isinstance(node, WindowAggregate):
        return f"WindowAggregate {show_aggregates(node.aggregates)}{_by(node.keys)}"
    if isinstance(node, BestmatchJoin):
        return _bestmatch(node, time_type)
    return _stateless(node, time_type)


def _stateless(node: Scan | Filter | Project | Range, time_type: str) -> str:
    if isinstance(node, Scan):
        return f"Scan {show_alias(node.stream.name, node.alias)}"
    if isinstance(node, Filter):
        return f"Filter {show_predicates(node.predicates)}"
    if isinstance(node, Project):
        return f"Project {show_items(node.items)}"
    return f"Range {show_ticks(node.ticks, time_type)}"


def _bestmatch(node: BestmatchJoin, time_type: str) -> str:
    dimensions = ", ".join(show_dimension(d, time_type) for d in node.dimensions)
    keys = f"; {show_equalities(node.equalities)}" if node.equalities else ""
    unmatched = ", keep unmatched" if node.keep_unmatched else ""
    return f"BestmatchJoin {node.kind}{unmatched} on {dimensions}{keys}"


def _by(keys: Sequence[Named]) -> str:
    return f" by {', '.join(key.expr.text for key in keys)}" if keys else ""


def show_predicates(predicates: Sequence[Expr]) -> str:
    """Predicates joined by AND, each with OR in parentheses."""
    texts = [predicate.text for predicate in predicates]
    if len(texts) > 1:
        texts = [f"({text})" if _OR.search(text) else text for text in texts]
    return " AND ".join(texts)


def show_equalities(equalities: Sequence[Equality]) -> str:
    """The equalities of a join, or the words for none."""
    shown = [f"{e.left} {'<=>' if e.null_safe else '='} {e.right}" for e in equalities]
    return " AND ".join(shown) or "without equality"


def show_aggregates(aggregates: Sequence[Aggregate]) -> str:
    """Aggregates as the user wrote them: `sum(s.price), count(*)`."""
    return ", ".join(map(show_aggregate, aggregates)) or "no aggregates"


def show_aggregate(aggregate: Aggregate) -> str:
    """One aggregate: `sum(s.price)`."""
    return f"{aggregate.function}({aggregate.argument.text if aggregate.argument else '*'})"


def show_dimension(dimension: Dimension, time_type: str) -> str:
    """One dimension of a bestmatch join with its constraint."""
    order = f"{dimension.left} {dimension.order.upper()} {dimension.right}"
    if dimension.eps is None:
        return order
    eps = show_ticks(int(dimension.eps), time_type) if dimension.is_time else f"{dimension.eps:g}"
    return f"{order} (within {eps})"


def show_items(items: Sequence[Named]) -> str:
    """The items of a projection, with their names where these say something new."""
    return ", ".join(_item(item) for item in items) or "nothing"


def _item(item: Named) -> str:
    text = item.expr.text
    if item.name == text or (item.expr.is_column and text.rsplit(".", 1)[-1] == item.name):
        return text
    return f"{text} AS {item.name}"


def show_alias(stream: str, alias: str) -> str:
    """A stream with its alias where it has another."""
    return stream if stream == alias else f"{stream} AS {alias}"
