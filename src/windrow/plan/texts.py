"""How plans show conditions, columns, aggregates and dimensions: as the user wrote them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from windrow.plan.exprs import Expr, Named
from windrow.plan.units import show_ticks

if TYPE_CHECKING:
    from windrow.plan.nodes.base import Equality
    from windrow.plan.nodes.bestmatch_join import Dimension
    from windrow.plan.nodes.table_join import TableKey
    from windrow.plan.nodes.window_aggregate import Aggregate

_OR = re.compile(r"\bor\b", re.IGNORECASE)

KIND_NAMES = {
    "left": "left outer",
    "right": "right outer",
    "full": "full outer",
    "semi": "semi",
    "anti": "anti",
}
"""The kinds of join that are not inner, as people call them."""


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
    return conditions if kind == "inner" else f"{KIND_NAMES[kind]} {conditions}"


def show_aggregates(aggregates: Sequence[Aggregate]) -> str:
    """Aggregates as the user wrote them: `sum(s.price), count(*)`."""
    return ", ".join(map(show_aggregate, aggregates))


def show_aggregate(aggregate: Aggregate) -> str:
    """One aggregate: `sum(s.price)`, `count_if(s.price > 4)`."""
    if aggregate.text:
        return aggregate.text
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


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def show_alias(stream: str, alias: str) -> str:
    """A stream with its alias where it has another."""
    return stream if stream == alias else f"{stream} AS {alias}"
