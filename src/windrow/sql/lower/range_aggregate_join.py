"""WINDOW JOIN: for each left row, aggregates over the right rows in a range of time around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.errors import BindError
from windrow.plan.exprs import Named, column
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.range_aggregate_join import RangeAggregateJoin
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.sql.bind.keys import add_keys, free_name, with_columns
from windrow.sql.bind.lengths import window_ticks
from windrow.sql.bind.scope import Scope
from windrow.sql.bind.select_list import Grouping, Item
from windrow.sql.bind.sources import From
from windrow.sql.grammar.clauses import RangeWindow
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import span_of, text_of
from windrow.sql.lower.pair_joins import refuse_pair_windows, sort_pair_conditions
from windrow.sql.render.render import Renderer


def lower_window_join(
    select: exp.Select,
    from_: From,
    scope: Scope,
    items: Sequence[Item],
    where: Sequence[exp.Expr],
    renderer: Renderer,
) -> tuple[Node, list[Item]]:
    """The join of the two sources, and the items over what it gives."""
    join = from_.paired
    assert join is not None
    if join.args.get("side"):
        raise unsupported(
            "window-join-side",
            f"{join.args['side']} WINDOW JOIN is not supported",
            "write WINDOW JOIN: every row of the left stream is in its answer, once",
        ).at(span_of(join))
    refuse_pair_windows(select, join, scope, renderer.sql)
    conditions = sort_pair_conditions(
        join, scope, from_.conditions, where, renderer.sql, is_left_kept=True
    )
    if conditions.above:
        raise _where_of_right(conditions.above[0], scope, renderer.sql)
    lo, hi = range_of(join.args["match_condition"], scope.sources[0].time_type, renderer.sql)
    inputs, equalities = add_keys(
        conditions.inputs(scope, renderer), conditions.keys, scope, renderer, preserved=(0,)
    )
    reading = _Reading(select, items, scope, renderer)
    shown, aggregates = reading.read(inputs[1])
    right, aggregates = _over_columns(inputs[1], aggregates, scope.sources[1].alias)
    text = text_of(join.args["match_condition"], renderer.sql)
    first, second = (source.alias for source in scope.sources)
    node = RangeAggregateJoin(
        inputs[0], right, (first, second), equalities, lo, hi, aggregates, text, span_of(join)
    )
    return node, shown


def range_of(clause: RangeWindow, time_type: str, sql: str) -> tuple[int, int]:
    """How many ticks before a left row its range begins, and how many after it, it ends."""
    ends = []
    for which in ("first", "last"):
        ticks = window_ticks(clause.args[which], time_type, sql)
        ends.append(-ticks if clause.args[f"is_{which}_before"] else ticks)
    if ends[0] > ends[1]:
        raise BindError(
            "reversed-window",
            f"the range {text_of(clause, sql)} ends before it begins",
            reason="BETWEEN names the earlier end first, as in SQL",
            hint="turn its ends around",
        ).at(span_of(clause))
    return -ends[0], ends[1]


def _where_of_right(condition: exp.Expr, scope: Scope, sql: str) -> BindError:
    left, right = (source.alias for source in scope.sources)
    return BindError(
        "where-of-window-join",
        f"{text_of(condition, sql)} in WHERE reads {right}",
        reason=f"a WINDOW JOIN gives rows of {left}; those of {right} are counted in them",
        hint=f"say in ON which rows of {right} are counted",
    ).at(span_of(condition))


@dataclass
class _Reading(Grouping):
    """The items of a WINDOW JOIN: columns of the left side, and aggregates of the right one."""

    def read(self, right: Node) -> tuple[list[Item], tuple[Aggregate, ...]]:
        """The items over the join, and its aggregates over the right input."""
        shown = [replace(item, tree=self._item_above(item)) for item in self.items]
        if not self.aggregates:
            raise BindError(
                "window-join-without-aggregate",
                "the WINDOW JOIN is asked for no aggregate",
                reason=f"it says of each row of {self.scope.sources[0].alias} what the rows around"
                " it add up to",
                hint=f"list one, for instance COUNT(*) or SUM({self.scope.sources[1].alias}.x)",
            ).at(span_of(self.select))
        for tree in self.aggregates:
            if 0 in self.scope.sources_in(tree):
                raise self._of_both(tree)
        return shown, tuple(self._aggregate(i, right) for i in range(len(self.aggregates)))

    def _plain_column(self, node: exp.Column) -> exp.Expr:
        if self.scope.source_of(node.name) == 0:
            return node
        text = text_of(node, self.renderer.sql)
        raise BindError(
            "not-aggregated",
            f"the column {text} is not inside an aggregate",
            reason=f"there may be many rows of {self.scope.sources[1].alias} around one of"
            f" {self.scope.sources[0].alias}",
            hint=f"aggregate it, for instance MAX({text})",
        ).at(span_of(node))

    def _of_both(self, tree: exp.Expr) -> BindError:
        left, right = (source.alias for source in self.scope.sources)
        return BindError(
            "aggregate-of-left",
            f"the aggregate {text_of(tree, self.renderer.sql)} reads {left}",
            reason=f"it is one of rows of {right}, the same for all rows of {left} at one time",
            hint=f"compute with {left} outside of it: {left}.x * SUM({right}.y)",
        ).at(span_of(tree))


def _over_columns(
    right: Node, aggregates: Sequence[Aggregate], alias: str
) -> tuple[Node, tuple[Aggregate, ...]]:
    """The right input with computed arguments as columns, and the aggregates over columns."""
    added: list[Named] = []
    plain = []
    for each in aggregates:
        argument = each.argument
        if argument is None or argument.is_column:
            plain.append(each)
            continue
        name = next((item.name for item in added if item.expr.spark == argument.spark), None)
        if name is None:
            name = free_name(f"{alias}.$argument{len(added)}", right.schema)
            added.append(Named(name, argument))
        read = replace(column(name, argument.type), text=argument.text, span=argument.span)
        plain.append(replace(each, argument=read))
    return with_columns(right, added), tuple(plain)
