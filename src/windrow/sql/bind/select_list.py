"""The SELECT list and GROUP BY: stars written out, names of columns, aggregates and their groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from sqlglot import exp

from windrow.errors import BindError, Span
from windrow.plan.aggregates import AGGREGATES
from windrow.plan.aggregates.function import AggregateFunction, DistinctRule
from windrow.plan.exprs import Expr, Named
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.window_aggregate import Aggregate, WindowAggregate
from windrow.schema import Schema
from windrow.sql.bind.scope import Scope, column_for, flat_column
from windrow.sql.grammar.clauses import AggregateCall
from windrow.sql.grammar.dialect import Windrow
from windrow.sql.grammar.refuse import refuse_expressions, unsupported
from windrow.sql.grammar.spans import bare, forget, is_flat, span_of, text_of
from windrow.sql.render.render import Renderer


@dataclass(frozen=True)
class Item:
    """One output column: a resolved tree and its name.

    `fallback` is the name it takes when `name` is taken already; "" where the user must choose.
    """

    tree: exp.Expr
    name: str
    fallback: str
    span: Span | None


def read_items(select: exp.Select, scope: Scope) -> list[Item]:
    """The items of the SELECT list, resolved, stars written out, names made unique."""
    items: list[Item] = []
    stars = [_star(expression, scope) for expression in select.expressions]
    shared = _shared_names({source for sources in stars for source in sources or ()}, scope)
    for expression, sources in zip(select.expressions, stars, strict=True):
        if sources is None:
            items.append(_item(expression, scope))
        for source in sources or ():
            items += _star_items(source, scope, shared, span_of(expression))
    return _with_unique_names(items)


def _star(expression: exp.Expr, scope: Scope) -> list[int] | None:
    """The sources that `*` or `a.*` stands for; None for any other expression."""
    star = expression.this if isinstance(expression, exp.Column) else expression
    if not isinstance(star, exp.Star):
        return None
    if star.args.get("except_") or star.args.get("replace") or star.args.get("rename"):
        raise unsupported(
            "star-except", "EXCEPT in a star is not supported", "list the columns"
        ).at(span_of(expression))
    if star is expression:
        return list(range(len(scope.sources)))
    table = expression.text("table")
    source = scope.source_named(table)
    if source is None:
        scope.refuse_hidden((table, "*"), expression)
        raise scope.unknown_alias(expression, table)
    return [source]


def _shared_names(sources: Set[int], scope: Scope) -> set[str]:
    """Column names that several of the sources have."""
    counts = Counter(
        name.lower() for source in sources for name, _ in scope.sources[source].columns
    )
    return {name for name, count in counts.items() if count > 1}


def _star_items(source: int, scope: Scope, shared: set[str], span: Span | None) -> list[Item]:
    items = []
    alias = scope.sources[source].alias
    for name, flat in scope.sources[source].columns:
        long_name = f"{alias}_{name}"
        shown = long_name if name.lower() in shared else name
        items.append(Item(flat_column(flat), shown, long_name, span))
    return items


def _item(expression: exp.Expr, scope: Scope) -> Item:
    span = span_of(expression)
    if isinstance(expression, exp.Alias):
        tree = scope.resolve(expression.this)
        return Item(tree, expression.alias, "", span)
    tree = scope.resolve(expression)
    if isinstance(tree, exp.Column) and isinstance(expression, exp.Column):
        alias = scope.sources[scope.source_of(tree.name)].alias
        return Item(tree, expression.name, f"{alias}_{expression.name}", span)
    if isinstance(tree, exp.Dot) and isinstance(expression, exp.Column):
        return Item(tree, expression.name, "", span)
    return Item(tree, text_of(expression, scope.sql), "", span)


def _with_unique_names(items: list[Item]) -> list[Item]:
    taken: set[str] = set()
    named = []
    for item in items:
        free = [name for name in (item.name, item.fallback) if name and name.lower() not in taken]
        if not free:
            base = item.name if item.name.isidentifier() else "value"
            raise BindError(
                "duplicate-output-name",
                f"two columns of the answer are called {item.name!r}",
                hint=f"name one of them, for instance  .. AS {base}2",
            ).at(item.span)
        taken.add(free[0].lower())
        named.append(replace(item, name=free[0]))
    return named


_PLACE = re.compile(r"\{(\d)\}")
_NEEDS_NO_PARENTHESIS = (exp.Column, exp.Literal, exp.Func, exp.Paren)


def lower_call(
    call: AggregateCall,
    where: exp.Expr | None,
    name: str,
    columns: Schema,
    renderer: Renderer,
) -> Aggregate:
    """The aggregate that a resolved call asks for, over rows with these columns.

    `where` is the condition of its FILTER, `name` that of the column that holds its answers.
    """
    function = AGGREGATES[call.args["function"]]
    arguments = call.arguments
    shown = _call_text(function, call, where, renderer)
    if _counts_rows(function, call):
        if where is None:
            return Aggregate("count", None, name, "bigint", registered=function, text=shown)
        arguments = [exp.Literal.number(1)]
    conditions = [
        a for a, kind in zip(arguments, function.takes, strict=False) if kind.is_condition
    ]
    conditions += [] if where is None else [where]
    renderer.predicates(columns, conditions)
    # An aggregate leaves NULL out: so it does what the condition does not let through.
    read = [_read(function.reads, arguments)] if function.reads else list(arguments)
    if where is not None:
        read[0] = exp.Case().when(where.copy(), read[0].copy())
    is_whole = call.is_distinct or not function.counts_rows
    expr = _argument(read, columns, renderer, is_whole=is_whole)
    computed = function.computed
    taken = [expr]
    if computed.reads or len(computed.takes) > 1:
        taken = renderer.typed(columns, arguments)
        text = f"({', '.join(each.text for each in taken)})"
        if where is not None:
            text = f"{text} where {text_of(where, renderer.sql)}"
        expr = replace(expr, text=text)
    for each, kind in zip(taken, computed.takes, strict=True):
        if not kind.fits(each.type):
            called = function.name.upper()
            raise BindError(
                "aggregate-type",
                f"{called} of {each.text} is not defined: it is {each.type}",
                hint=kind.hint.format(name=called, text=each.text),
            ).at(span_of(call))
    type_ = computed.type_of(tuple(each.type for each in taken))
    is_distinct = call.is_distinct and function.distinct is DistinctRule.once
    return Aggregate(computed.name, expr, name, type_, is_distinct, registered=computed, text=shown)


def _call_text(
    function: AggregateFunction, call: AggregateCall, where: exp.Expr | None, renderer: Renderer
) -> str:
    """The call as the user wrote it, by the usual name of its function."""
    arguments = ", ".join(text_of(each, renderer.sql) for each in call.arguments)
    if _counts_rows(function, call):
        arguments = "*"
    shown = f"{function.name}({'DISTINCT ' if call.is_distinct else ''}{arguments})"
    return shown if where is None else f"{shown} FILTER (WHERE {text_of(where, renderer.sql)})"


def _counts_rows(function: AggregateFunction, call: AggregateCall) -> bool:
    """Whether it is COUNT(*), or COUNT of a constant."""
    only = call.arguments[0] if len(call.arguments) == 1 else None
    is_row = isinstance(only, exp.Star | exp.Literal) and not call.is_distinct
    return function.counts_rows and is_row


def _read(template: str, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """What an aggregate reads of a row: its template, with arguments in their places."""
    tree: exp.Expr = exp.maybe_parse(_PLACE.sub(r"`{\1}`", template), dialect=Windrow)
    for node in tree.walk():
        node.meta.clear()  # its places are those of the template, not of the query
    for place in list(tree.find_all(exp.Column)):
        argument = arguments[int(place.name.strip("{}"))].copy()
        is_part = isinstance(place.parent, exp.Binary | exp.Unary)
        if is_part and not isinstance(argument, _NEEDS_NO_PARENTHESIS):
            argument = exp.Paren(this=argument)
        place.replace(argument)
    return tree


def _argument(
    read: Sequence[exp.Expr], columns: Schema, renderer: Renderer, *, is_whole: bool
) -> Expr:
    """What an aggregate reads: several expressions are one value, NULL where one of them is.

    Where it `is_whole` the value has all of theirs; else it only says that there is one.
    """
    if len(read) == 1:
        return renderer.typed(columns, read)[0]
    whole = exp.Struct(expressions=[each.copy() for each in read])
    value = whole if is_whole else exp.Literal.number(1)
    known = exp.and_(*(each.copy().is_(exp.null()).not_() for each in read))
    (expr,) = renderer.typed(columns, [exp.Case().when(known, value)])
    return replace(expr, text=", ".join(text_of(each, renderer.sql) for each in read))


RESERVED = {"_change_type", "_event_time"}
"""Columns that every changelog has beside those of the query."""


def is_aggregate_query(select: exp.Select) -> bool:
    """Whether a SELECT groups: GROUP BY, HAVING, or an aggregate in its list.

    Those of a WINDOW JOIN are no groups: it gives each of its left rows once.
    """
    if select.args.get("group") or select.args.get("having"):
        return True
    if any(join.args.get("kind") == "WINDOW" for join in select.args.get("joins") or []):
        return False
    return any(expression.find(exp.AggFunc) for expression in select.expressions)


@dataclass
class Grouping:
    """Lowers the grouped part of one SELECT.

    Trees above the aggregate read its output: a key by its name, an aggregate as `$agg0`.
    """

    select: exp.Select
    items: Sequence[Item]
    scope: Scope
    renderer: Renderer
    keys: list[tuple[str, exp.Expr]] = field(default_factory=list)
    aggregates: list[exp.Expr] = field(default_factory=list)

    def lower(
        self, node: Node, span: Span | None
    ) -> tuple[Node, list[Item], tuple[str, ...] | None]:
        """The aggregate over `node`, the items over it, and the names of the key columns.

        None for the names where a key is not among the items.
        """
        self._read_keys()
        key_names = self._key_names()
        items = [replace(item, tree=self._item_above(item)) for item in self.items]
        having = self._having()
        exprs = self.renderer.typed(node.schema, [tree for _, tree in self.keys])
        keys = tuple(Named(name, e) for (name, _), e in zip(self.keys, exprs, strict=True))
        aggregates = tuple(self._aggregate(i, node) for i in range(len(self.aggregates)))
        result = WindowAggregate(node, keys, aggregates, span)
        return self.renderer.filtered(result, having), items, key_names

    def _read_keys(self) -> None:
        group = self.select.args.get("group")
        if group is None:
            return
        sets = group.find(exp.GroupingSets, exp.Cube, exp.Rollup)
        if sets is not None or group.args.get("totals"):
            raise unsupported(
                "grouping-sets",
                "GROUPING SETS, CUBE and ROLLUP are not supported",
                "run one query per grouping",
            ).at(span_of(group))
        if group.args.get("all"):
            trees = [item.tree for item in self.items if not item.tree.find(exp.AggFunc)]
        else:
            trees = [self._key_tree(expression) for expression in group.expressions]
        for tree in map(bare, trees):
            if all(tree != known for _, known in self.keys):
                is_plain = isinstance(tree, exp.Column)
                name = tree.name if is_plain else f"$group{len(self.keys)}"
                self.keys.append((name, tree))

    def _key_tree(self, expression: exp.Expr) -> exp.Expr:
        expression = bare(expression)
        if isinstance(expression, exp.Tuple):
            raise unsupported(
                "group-by-tuple",
                f"GROUP BY {text_of(expression, self.renderer.sql)} is not supported",
                "write the keys without parentheses: GROUP BY a, b; without keys leave GROUP BY out",
            ).at(span_of(expression))
        tree = self._ordinal(expression)
        if tree is None:
            tree = self._resolve(expression)
        refuse_expressions(expression)
        aggregate = tree.find(exp.AggFunc)
        if aggregate is not None:
            raise BindError(
                "aggregate-in-group-by",
                f"GROUP BY holds the aggregate {text_of(aggregate, self.renderer.sql)}",
                hint="group by the columns themselves",
            ).at(span_of(expression))
        return tree

    def _ordinal(self, expression: exp.Expr) -> exp.Expr | None:
        if not isinstance(expression, exp.Literal) or expression.is_string:
            return None
        position = int(expression.name) if expression.name.isdigit() else 0
        if not 1 <= position <= len(self.items):
            raise BindError(
                "group-by-position",
                f"GROUP BY {expression.name} names no item of the SELECT list",
                hint=f"positions go from 1 to {len(self.items)}",
            ).at(span_of(expression))
        return self.items[position - 1].tree

    def _resolve(self, expression: exp.Expr) -> exp.Expr:
        """The tree over the input; a name that no stream has may be an alias of the list."""
        copy = expression.copy()
        for column in list(copy.find_all(exp.Column)):
            item = self._alias(column)
            if item is None:
                continue
            if column is copy:
                return item.tree
            column.replace(exp.Paren(this=item.tree.copy()))
            forget(copy)
        return _resolve_rest(copy, self.scope)

    def _alias(self, column: exp.Column) -> Item | None:
        if column.table or any(s.find(column.name) for s in self.scope.sources):
            return None
        return next((i for i in self.items if i.name.lower() == column.name.lower()), None)

    def _key_names(self) -> tuple[str, ...] | None:
        """The output names of the keys; None where one is not in the SELECT list."""
        for item in self.items:
            refuse_reserved([item.name], item.span)
        names = []
        for _, tree in self.keys:
            found = [item.name for item in self.items if bare(item.tree) == tree]
            if not found:
                return None
            names.append(found[0])
        return tuple(names)

    def _having(self) -> list[exp.Expr]:
        having = self.select.args.get("having")
        if having is None:
            return []
        refuse_expressions(having.this)
        return [self._above(self._resolve(having.this))]

    def _item_above(self, item: Item) -> exp.Expr:
        try:
            return self._above(item.tree)
        except BindError as error:
            raise error.at(item.span) from None

    def _above(self, tree: exp.Expr) -> exp.Expr:
        """The tree with keys and aggregates replaced by the columns that hold them."""

        def output(node: exp.Expr) -> exp.Expr:
            for name, key in self.keys:
                if node == key:
                    return column_for(name, node)
            if isinstance(node, exp.AggFunc) or is_filtered(node):
                return column_for(self._aggregate_name(node), node)
            return self._plain_column(node) if isinstance(node, exp.Column) else node

        return tree.transform(output)

    def _plain_column(self, node: exp.Column) -> exp.Expr:
        """What a column stands for that is neither a key nor inside an aggregate."""
        text = text_of(node, self.renderer.sql)
        raise BindError(
            "not-grouped",
            f"the column {text} is neither in GROUP BY nor inside an aggregate",
            hint=f"add {text} to GROUP BY, or aggregate it, for instance SUM({text})",
        ).at(span_of(node))

    def _aggregate_name(self, node: exp.Expr) -> str:
        own = node.this if is_filtered(node) else node
        nested = next((n for n in node.find_all(exp.AggFunc) if n is not own), None)
        if nested is not None:
            raise BindError(
                "nested-aggregate",
                "an aggregate stands inside another one",
                hint="compute the inner one in a derived table",
            ).at(span_of(nested))
        if node not in self.aggregates:
            self.aggregates.append(node)
        return f"$agg{self.aggregates.index(node)}"

    def _aggregate(self, index: int, node: Node) -> Aggregate:
        tree = self.aggregates[index]
        where = tree.expression.this if is_filtered(tree) else None
        call = tree if where is None else tree.this
        assert isinstance(call, AggregateCall), "all others were refused"
        return lower_call(call, where, f"$agg{index}", node.schema, self.renderer)


def is_filtered(node: exp.Expr) -> bool:
    """Whether the node is an aggregate with FILTER (WHERE ..)."""
    return isinstance(node, exp.Filter) and isinstance(node.this, exp.AggFunc)


def refuse_reserved(names: Sequence[str], span: Span | None) -> None:
    """Refuses a column of a changelog that has the name of one that all have."""
    for name in names:
        if name.lower() in RESERVED:
            raise BindError(
                "reserved-name",
                f"the name {name} is taken",
                reason="every changelog has the columns _change_type and _event_time",
                hint="give the column another name with AS",
            ).at(span)


def _resolve_rest(tree: exp.Expr, scope: Scope) -> exp.Expr:
    """Resolves the columns that an alias did not bring in resolved already."""
    for column in list(tree.find_all(exp.Column)):
        if is_flat(column) or (column.parent is not None and is_flat(column.parent)):
            continue
        resolved = scope.resolve(column)
        if column is tree:
            return resolved
        column.replace(resolved)
    return tree
