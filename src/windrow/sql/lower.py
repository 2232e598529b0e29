"""One SELECT to plan nodes.

Scan -> [Range] -> [Filter, Project for keys] -> WindowJoin -> Filter
     -> [WindowAggregate -> Filter for HAVING] -> Project
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from windrow.errors import PlanError
from windrow.plan.catalog import Catalog
from windrow.plan.count_windows import CountWindows
from windrow.plan.exprs import Expr, Named
from windrow.plan.nodes import KIND_NAMES, Filter, Node, Project, Range, WindowJoin
from windrow.plan.types import TypeResolver
from windrow.plan.windows import WindowGraph
from windrow.schema import Field, Schema
from windrow.sql.bestmatch import lower_bestmatch
from windrow.sql.calls import Functions
from windrow.sql.conditions import Conditions, sort_conditions, sort_filters
from windrow.sql.count_windows import count_windows, refuse_count_windows
from windrow.sql.graph_checks import (
    Places,
    check_contradiction,
    check_graph,
    check_reversed,
    example_length,
)
from windrow.sql.grouping import Grouping, is_aggregate_query
from windrow.sql.join_kinds import FIRST_ONLY, one_key_each, windows_in_where
from windrow.sql.keys import add_keys
from windrow.sql.refuse import (
    as_select,
    refuse_clauses,
    refuse_expressions,
    refuse_match,
    refuse_subquery_conditions,
    unsupported,
)
from windrow.sql.render import Renderer
from windrow.sql.scope import Scope, Source
from windrow.sql.select_list import Item, read_items
from windrow.sql.sources import From, FromReader, Relation
from windrow.sql.spans import span_of
from windrow.sql.windows import StatedWindows, read_windows


@dataclass
class Lowering:
    """Lowers the SELECTs of one query; `named` are the queries of WITH in reach."""

    sql: str
    catalog: Catalog
    resolver: TypeResolver
    functions: Functions

    def __post_init__(self) -> None:
        self.renderer = Renderer(self.sql, self.resolver, self.functions)

    def relation(
        self, tree: exp.Expr, alias: str = "", named: Mapping[str, exp.Expr] | None = None
    ) -> Relation:
        """The plan of a query; under an alias its columns are named `alias.column`."""
        select = as_select(tree)
        refuse_clauses(select)
        reach = {**(named or {}), **_with_queries(select)}
        reader = FromReader(
            self.sql, self.catalog, reach, lambda query, name: self.relation(query, name, reach)
        )
        from_ = reader.read(select)
        scope = seen = Scope(from_.sources)
        if from_.kind in FIRST_ONLY:
            seen = Scope(from_.sources[:1], hidden=from_.sources[1:])
        where = select.args.get("where")
        filters = (where.this,) if where else ()
        if from_.bestmatch is not None:
            refuse_match(select, from_.bestmatch)
        for condition in (*from_.conditions, *filters):
            refuse_subquery_conditions(condition)
        in_from = [*from_.conditions, *_match_orders(from_)]
        seen.check([*select.expressions, *filters, *(in_from if seen is scope else [])])
        scope.check(in_from)
        for expression in select.expressions:
            refuse_expressions(expression)
        items = read_items(select, seen, self.sql)
        return self._lower(_Block(select, from_, scope, seen, items, filters), alias)

    def _lower(self, block: _Block, alias: str) -> Relation:
        time_type = block.from_.sources[0].time_type
        changelog = _changelog_source(block)
        conditions = (*block.from_.conditions, *block.filters)
        if block.from_.bestmatch is not None:
            node: Node = lower_bestmatch(
                block.select, block.from_.bestmatch, block.scope, conditions, self.renderer
            )
            return self._project(node, block.items, alias, time_type, None)
        clauses = list(block.select.args.get("windows") or [])
        if block.from_.kind == "inner":
            sorted_ = sort_conditions(conditions, block.scope, time_type, self.sql)
            filters = sorted_.predicates
        else:
            # WHERE says what to keep of the join's rows, ON and the windows what these are.
            sorted_ = sort_conditions(block.from_.conditions, block.scope, time_type, self.sql)
            in_where, filters = sort_filters(block.filters, block.seen)
            clauses += in_where
        clauses += sorted_.clauses
        grouped = is_aggregate_query(block.select)
        self._refuse_counted(block, clauses, grouped=grouped)
        counts, timed = count_windows(clauses, block.scope, self.sql)
        windows = (
            StatedWindows(()) if counts else read_windows(timed, block.scope, time_type, self.sql)
        )
        inputs = self._inputs(block.scope, windows) if grouped else _nodes(block.scope)
        node = self._join(inputs, block, windows, sorted_, counts)
        if filters:
            node = Filter(node, self.renderer.predicates(node.schema, filters))
        if grouped:
            grouping = Grouping(block.select, block.items, block.seen, self.renderer)
            node, items, keys = grouping.lower(node, span_of(block.select.args.get("group")))
            return self._project(node, items, alias, time_type, keys)
        keys_kept = None if changelog is None else _kept_keys(changelog, block.items)
        return self._project(node, block.items, alias, time_type, keys_kept)

    def _inputs(self, scope: Scope, windows: StatedWindows) -> list[Node]:
        """The sources of an aggregate, each with its window; one without is refused."""
        inputs: list[Node] = []
        for source in scope.sources:
            ticks = windows.uniform_ticks if source.range_ticks is None else source.range_ticks
            if ticks is None:
                raise _no_window(source, windows)
            inputs.append(Range(source.node, ticks))
        return inputs

    def _join(
        self,
        inputs: Sequence[Node],
        block: _Block,
        windows: StatedWindows,
        conditions: Conditions,
        counts: CountWindows | None,
    ) -> Node:
        if len(inputs) == 1:
            return inputs[0]
        aliases = tuple(source.alias for source in block.scope.sources)
        graph = WindowGraph(aliases, windows.bounds + conditions.bounds)
        places = {**windows.places, **conditions.places}
        if counts is None:
            self._check_graph(graph, block, places)
        else:  # the windows bound the state; what is said of times filters
            check_contradiction(graph, block.from_.span, places)
        alternative = None
        if windows.reversed is not None:
            alternative = WindowGraph(aliases, windows.reversed + conditions.bounds)
            check_reversed(alternative, block.from_.span, places)
        keys = conditions.equalities
        predicates: tuple[Expr, ...] = ()
        if block.from_.kind != "inner":
            keys, others = one_key_each(conditions.equalities)
            predicates = self.renderer.predicates(
                block.scope.schema, [*conditions.predicates, *others]
            )
        sealed = counts.sealed if counts else ()
        nodes, equalities = add_keys(inputs, keys, block.scope, self.renderer, sealed)
        return WindowJoin(
            tuple(nodes),
            aliases,
            equalities,
            graph,
            block.from_.span,
            predicates,
            block.from_.kind,
            alternative,
            counts,
        )

    def _check_graph(self, graph: WindowGraph, block: _Block, places: Places) -> None:
        try:
            check_graph(graph, block.scope, block.from_.span, places)
        except PlanError as error:
            raise self._told_of_where(error, block) from None

    def _refuse_counted(self, block: _Block, clauses: Sequence[exp.Expr], *, grouped: bool) -> None:
        """Refuses count windows under what is not an inner join."""
        length = example_length(block.from_.sources[0].time_type)
        if block.from_.kind != "inner":
            over = f"the {KIND_NAMES[block.from_.kind]} join"
            instead = f"write windows of time, for instance [RANGE {length}] after each stream"
            why = (
                ": a tuple without a match would be final only as it leaves its window, and no"
                " watermark says when that is"
            )
            refuse_count_windows(block.scope, clauses, over, instead, self.sql, why)
        if grouped:
            instead = f"write [RANGE {length}] after each stream, or aggregate the rows of a join"
            instead += f" in a derived table: FROM (SELECT ..) x [RANGE {length}]"
            refuse_count_windows(block.scope, clauses, "an aggregate", instead, self.sql)

    def _told_of_where(self, error: PlanError, block: _Block) -> PlanError:
        """The error of a join that lacks a window, told of what WHERE has of one."""
        if block.from_.kind == "inner" or error.condition == "contradicting-windows":
            return error
        time_type = block.from_.sources[0].time_type
        sorted_ = sort_conditions(block.filters, block.seen, time_type, self.sql)
        return windows_in_where(error, sorted_.places)

    def _project(
        self,
        node: Node,
        items: Sequence[Item],
        alias: str,
        time_type: str,
        keys: tuple[str, ...] | None,
    ) -> Relation:
        exprs = self.renderer.typed(node.schema, [item.tree for item in items])
        names = [f"{alias}.{item.name}" if alias else item.name for item in items]
        named = tuple(Named(name, expr) for name, expr in zip(names, exprs, strict=True))
        schema = Schema(tuple(Field(n.name, n.expr.type) for n in named))
        return Relation(Project(node, named, schema), time_type, keys)


@dataclass(frozen=True)
class _Block:
    """One SELECT with its names resolved.

    `scope` has all sources of FROM, `seen` those that are in reach after it; `filters` is WHERE.
    """

    select: exp.Select
    from_: From
    scope: Scope
    seen: Scope
    items: list[Item]
    filters: tuple[exp.Expr, ...]


def _nodes(scope: Scope) -> list[Node]:
    return [source.node for source in scope.sources]


def _with_queries(select: exp.Select) -> dict[str, exp.Expr]:
    """The queries of WITH by their names."""
    with_ = select.args.get("with_")
    if with_ is None:
        return {}
    if with_.args.get("recursive"):
        raise unsupported(
            "recursive", "WITH RECURSIVE is not supported", "write the steps out", span_of(with_)
        )
    return {cte.alias.lower(): cte.this for cte in with_.expressions}


def _match_orders(from_: From) -> list[exp.Expr]:
    return [] if from_.bestmatch is None else list(from_.bestmatch.expressions)


def _changelog_source(block: _Block) -> Source | None:
    """The derived table that is a changelog; anything but filters above it is refused."""
    found = next((s for s in block.scope.sources if s.changelog_keys is not None), None)
    if found is None:
        return None
    if len(block.scope.sources) > 1 or is_aggregate_query(block.select):
        raise unsupported(
            "nested-aggregate",
            f"{found.alias} is an aggregate; joining or aggregating it again is not supported",
            "aggregate once, at the top, over a join in FROM",
            found.span,
        )
    return found


def _kept_keys(source: Source, items: Sequence[Item]) -> tuple[str, ...]:
    """The output names of a changelog's keys; a key that is left out is refused."""
    names = []
    for key in source.changelog_keys or ():
        flat = f"{source.alias}.{key}"
        found = [i.name for i in items if isinstance(i.tree, exp.Column) and i.tree.name == flat]
        if not found:
            raise unsupported(
                "hidden-key",
                f"the GROUP BY key {flat} is not in the SELECT list",
                f"add {flat} to the SELECT list: the rows of a changelog are told apart by"
                " their keys",
                source.span,
            )
        names.append(found[0])
    return tuple(names)


def _no_window(source: Source, windows: StatedWindows) -> PlanError:
    length = example_length(source.time_type)
    reason = "an aggregate takes rows back when they leave their window"
    if windows.bounds:
        reason += "; a window between two streams does not say when a row leaves"
    return PlanError(
        "no-window-per-stream",
        f"{source.alias} has no window of its own",
        reason=reason,
        hint=f"add it in FROM: {source.alias} [RANGE {length}]",
        span=source.span,
    )
