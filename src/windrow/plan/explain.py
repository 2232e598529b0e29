"""A logical plan as stable text: numbered lines, one per node, as the user wrote things."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from windrow.plan.asof import AsofJoin, RangeAggregateJoin
from windrow.plan.durations import show_ticks
from windrow.plan.exprs import Expr, Named
from windrow.plan.nodes import (
    KIND_NAMES,
    Aggregate,
    BestmatchJoin,
    BestPairs,
    ChangeFeed,
    Dimension,
    Equality,
    Filter,
    NewestRows,
    Node,
    PairJoin,
    Project,
    Query,
    Range,
    Scan,
    SetOperation,
    TableJoin,
    TableKey,
    TableScan,
    WindowAggregate,
    WindowJoin,
    children,
)
from windrow.plan.walk import walk

_OR = re.compile(r"\bor\b", re.IGNORECASE)


class ColumnTexts:
    """Flat column names as the user knows them.

    A `$` marks a column that the planner added: it is shown as the expression that it holds.
    """

    def __init__(self, projections: Iterable[Sequence[Named]]) -> None:
        self._computed = {
            item.name: item.expr.text for items in projections for item in items if "$" in item.name
        }

    def __call__(self, name: str) -> str:
        """The column as the user knows it."""
        return self._computed.get(name, name)


def logical_lines(query: Query) -> list[str]:
    """The plan of a query, from the answer down to the streams."""
    show = ColumnTexts(node.items for node in walk(query.root) if isinstance(node, Project))
    rows = [(0, f"Emit {'changelog' if query.is_changelog else 'append'}")]
    rows += _nodes(query.root, 1, query.time_type, show)
    return [f"{number:02}) {'  ' * depth}{text}" for number, (depth, text) in enumerate(rows, 1)]


def _nodes(node: Node, depth: int, time_type: str, show: ColumnTexts) -> Iterable[tuple[int, str]]:
    yield depth, _node(node, time_type, show)
    for child in children(node):
        yield from _nodes(child, depth + 1, time_type, show)


def _node(node: Node, time_type: str, show: ColumnTexts) -> str:
    if isinstance(node, WindowJoin | PairJoin | TableJoin):
        return _join(node, time_type, show)
    if isinstance(node, WindowAggregate):
        return f"WindowAggregate {show_aggregates(node.aggregates)}{_by(node.keys)}"
    if isinstance(node, SetOperation):
        return f"SetOperation {node.kind}"
    if isinstance(node, ChangeFeed | NewestRows):
        return _of_changes(node, time_type)
    if isinstance(node, BestPairs):
        dimensions = ", ".join(show_dimension(d, time_type, show) for d in node.dimensions)
        unmatched = ", keep unmatched" if node.marks else ""
        return f"BestPairs {node.kind}{unmatched} on {dimensions}"
    return _stateless(node, time_type)


def _join(node: WindowJoin | PairJoin | TableJoin, time_type: str, show: ColumnTexts) -> str:
    if isinstance(node, BestmatchJoin):
        return _bestmatch(node, time_type, show)
    if isinstance(node, RangeAggregateJoin):
        on = show_equalities(node.equalities, show)
        on = f"on {on}" if node.equalities else on
        return f"RangeAggregateJoin {show_aggregates(node.aggregates)} {on}; {node.text}"
    if isinstance(node, AsofJoin):
        kind = f"{KIND_NAMES[node.kind]} " if node.kind in KIND_NAMES else ""
        on = show_equalities(node.equalities, show)
        on = f"on {on}" if node.equalities else on
        return f"AsofJoin {kind}{on}; {node.match.text}"
    if isinstance(node, TableJoin):
        return f"TableJoin {show_table_join(node.kind, node.keys, node.predicates)}"
    texts = [] if node.counts is None else node.counts.texts(node.aliases)
    texts += dict.fromkeys(bound.text for bound in node.graph.stated if bound.text)
    windows = ", ".join(texts)
    conditions = show_equalities(node.equalities, show)
    if node.predicates:
        conditions += f" AND {show_predicates(node.predicates)}"
    kind = f"{KIND_NAMES[node.kind]} on " if node.kind in KIND_NAMES else ""
    name = "SnapshotJoin" if node.is_snapshot else "WindowJoin"
    return f"{name} {kind}{conditions}{'; ' if windows else ''}{windows}"


def _of_changes(node: ChangeFeed | NewestRows, time_type: str) -> str:
    if isinstance(node, NewestRows):
        by = f", for each {', '.join(node.partition)}" if node.partition else ""
        return f"NewestRows {node.rows}{by}"
    window = "" if node.ticks is None else f", Range {show_ticks(node.ticks, time_type)}"
    return f"ChangeFeed {node.alias}{window}"


def _stateless(node: Scan | TableScan | Filter | Project | Range, time_type: str) -> str:
    if isinstance(node, Scan):
        return f"Scan {show_alias(node.stream.name, node.alias)}"
    if isinstance(node, TableScan):
        return f"TableScan {show_alias(node.table.name, node.alias)}"
    if isinstance(node, Filter):
        return f"Filter {show_predicates(node.predicates)}"
    if isinstance(node, Project):
        return f"Project {show_items(node.items)}"
    return f"Range {show_ticks(node.ticks, time_type)}"


def _bestmatch(node: BestmatchJoin, time_type: str, show: ColumnTexts) -> str:
    dimensions = ", ".join(show_dimension(d, time_type, show) for d in node.dimensions)
    keys = f"; {show_equalities(node.equalities, show)}" if node.equalities else ""
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


def show_equalities(equalities: Sequence[Equality], show: ColumnTexts) -> str:
    """The equalities of a join, or the words for none."""
    shown = [f"{show(e.left)} {'<=>' if e.null_safe else '='} {show(e.right)}" for e in equalities]
    return " AND ".join(shown) or "without equality"


def show_table_join(kind: str, keys: Sequence[TableKey], predicates: Sequence[Expr]) -> str:
    """A join with a table: its kind where that is not inner, and its conditions."""
    texts = [f"{k.row.text} {'<=>' if k.null_safe else '='} {k.table.text}" for k in keys]
    if predicates:
        texts.append(show_predicates(predicates))
    conditions = f"on {' AND '.join(texts)}" if texts else "without condition"
    return f"{KIND_NAMES[kind]} {conditions}" if kind in KIND_NAMES else conditions


def show_aggregates(aggregates: Sequence[Aggregate]) -> str:
    """Aggregates as the user wrote them: `sum(s.price), count(*)`."""
    return ", ".join(map(show_aggregate, aggregates)) or "no aggregates"


def show_aggregate(aggregate: Aggregate) -> str:
    """One aggregate: `sum(s.price)`."""
    distinct = "DISTINCT " if aggregate.is_distinct else ""
    argument = aggregate.argument.text if aggregate.argument else "*"
    return f"{aggregate.function}({distinct}{argument})"


def show_dimension(dimension: Dimension, time_type: str, show: Callable[[str], str]) -> str:
    """One dimension of a bestmatch join with its constraint."""
    if dimension.is_condition:
        return f"where {dimension.text}"
    name = dimension.order if dimension.function is not None else dimension.order.upper()
    order = f"{show(dimension.left)} {name} {show(dimension.right)}"
    if dimension.eps is None:
        return order
    unit = time_type if dimension.is_time else dimension.unit
    eps = f"{dimension.eps:g}" if unit is None else show_ticks(int(dimension.eps), unit)
    return f"{order} (within {eps})"


def show_items(items: Sequence[Named]) -> str:
    """The items of a projection, with their names where these say something new."""
    return ", ".join(_item(item) for item in items) or "nothing"


def _item(item: Named) -> str:
    if item.expr.is_column:
        source = item.expr.columns[0]
        if item.name == source:
            return source
        if source.endswith(f".{item.name}"):
            return item.expr.text
    if "$" in item.name or item.name == item.expr.text:
        return item.expr.text
    return f"{item.expr.text} AS {item.name}"


def show_alias(stream: str, alias: str) -> str:
    """A stream with its alias where it has another."""
    return stream if stream == alias else f"{stream} AS {alias}"
